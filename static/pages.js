// A long thread stays bounded. Read upwards: a page of messages far from the window is taken out. An
// empty box of its height stands there, and asks for it again when the reader comes near, from either
// side. Followed: the oldest of many messages go, and are earlier ones, for who reads upwards later.
(() => {
  "use strict";

  const NEAR = 1500; // pixels around the window within which a page is there: more than asks for earlier ones
  const FAR = 3000; // pixels beyond which it is taken out
  const REST = 60; // milliseconds: who drags the bar past a page does not ask for it

  const MANY = 240; // messages under one another beyond which the oldest go, while the end is read
  const KEPT = 120;

  const near = new Set(); // pages that are to be there
  let log = null;
  let comes = null;
  let goes = null;
  let begins = ""; // the message that the log begins with since older ones went; empty: none did

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

  // The id of a message; its element may stand in one that folds several.
  function idOf(child) {
    const one = child?.matches("article") ? child : child?.querySelector("article");
    return one?.dataset.id ?? one?.id.slice(wayOf(one).dataset.way.length) ?? "";
  }

  const wayOf = (one) => one.closest("#pane").querySelector("[data-way]");

  // What comes before the log's first message is asked for from here on, and nothing else stands there.
  function leadBack(id) {
    const link = wayOf(log).content.querySelector("a").cloneNode(true);
    const href = link.getAttribute("href") + encodeURIComponent(id);
    for (const name of ["href", "hx-get"]) link.setAttribute(name, href);
    const earlier = log.querySelector(".earlier");
    earlier.replaceChildren(link);
    log.querySelector(".before").replaceChildren(earlier);
    htmx.process(earlier);
  }

  // Who reads along is not taken for one who scrolls up, now that the log is shorter.
  function remove(old) {
    for (const one of old) one.remove();
    log.dispatchEvent(new CustomEvent("enso:shorter", { bubbles: true }));
  }

  // A snapshot holds what went: it goes again, or the log begins where that does.
  function comeBack(tail) {
    const all = [...tail.children];
    const at = all.findIndex((one) => idOf(one) === begins);
    if (at >= 0) return remove(all.slice(0, at));
    begins = "";
    leadBack(idOf(tail.firstElementChild));
  }

  function letGo() {
    const tail = log.querySelector(".tail");
    if (begins && begins !== idOf(tail.firstElementChild)) comeBack(tail);
    if (tail.childElementCount <= MANY) return; // asks for no layout
    const toGo = log.scrollHeight - log.scrollTop - log.clientHeight;
    if (toGo > 4) return; // pixels: the end is read
    const old = [...tail.children].slice(0, -KEPT);
    if ([...old, log.querySelector(".before")].some(isHeld)) return;
    begins = idOf(tail.children[old.length]);
    leadBack(begins);
    remove(old);
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
      begins = "";
      log = box;
      comes = box && new IntersectionObserver(seeNear, { root: box, rootMargin: `${NEAR}px 0px` });
      goes = box && new IntersectionObserver(seeFar, { root: box, rootMargin: `${FAR}px 0px` });
    }
    if (!box) return;
    letGo();
    for (const page of box.querySelectorAll("[data-page]")) {
      comes.observe(page); // one that is observed already is passed over
      goes.observe(page);
    }
  }

  watch();
  document.addEventListener("htmx:after:swap", watch);
  // Who reads along is brought to the end after what came was laid out.
  document.addEventListener("scroll", (event) => { if (event.target === log) letGo(); }, { capture: true, passive: true });
})();
