// A long thread that is read upwards: a page of messages far from the window is taken out. An empty
// box of its height stands there, and asks for it again when the reader comes near, from either side.
(() => {
  "use strict";

  const NEAR = 1500; // pixels around the window within which a page is there: more than asks for earlier ones
  const FAR = 3000; // pixels beyond which it is taken out
  const REST = 60; // milliseconds: who drags the bar past a page does not ask for it

  const near = new Set(); // pages that are to be there
  let log = null;
  let comes = null;
  let goes = null;

  function bring(page) {
    if (near.has(page) && page.isConnected && page.classList.contains("away"))
      htmx.trigger(page.querySelector("[data-again]"), "again");
  }

  // What a reader writes in, has marked or stands on stays.
  function isHeld(page) {
    const marked = getSelection();
    return page.contains(document.activeElement) || (!marked.isCollapsed && marked.containsNode(page, true));
  }

  function takeOut(page) {
    if (page.classList.contains("away") || isHeld(page)) return;
    page.style.height = `${page.getBoundingClientRect().height}px`;
    page.classList.add("away");
    for (const child of [...page.childNodes]) if (!child.dataset || !("again" in child.dataset)) child.remove();
  }

  function seeNear(seen) {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) near.delete(target);
      else {
        near.add(target);
        setTimeout(bring, REST, target);
      }
    }
  }

  const seeFar = (seen) => {
    for (const { target, isIntersecting } of seen) if (!isIntersecting && target.isConnected) takeOut(target);
  };

  function watch() {
    const box = document.querySelector("[data-log]");
    if (box !== log) {
      comes?.disconnect();
      goes?.disconnect();
      near.clear();
      log = box;
      comes = box && new IntersectionObserver(seeNear, { root: box, rootMargin: `${NEAR}px 0px` });
      goes = box && new IntersectionObserver(seeFar, { root: box, rootMargin: `${FAR}px 0px` });
    }
    if (!box) return;
    for (const page of box.querySelectorAll("[data-page]")) {
      comes.observe(page); // one that is observed already is passed over
      goes.observe(page);
    }
  }

  watch();
  document.addEventListener("htmx:after:swap", watch);
})();
