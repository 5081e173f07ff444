// Further rows of the rail go where a rail drawn at once would have them: behind those of their
// project. A row that is there already moved meanwhile, and stands where it came last.
(() => {
  "use strict";

  // The open thread's row, when it is older than all that were shown: it stays behind.
  const last = (list) => list.querySelector(":scope > [data-behind]");

  function putRows(from, to) {
    const rows = [...from.children];
    for (const row of rows) {
      const shown = document.getElementById(row.id); // the first of that id, and it stands before
      if (shown !== row) shown.remove();
    }
    if (from !== to) for (const row of rows) to.insertBefore(row, last(to));
  }

  function putGroup(group) {
    group.removeAttribute("data-further");
    const shown = document.getElementById(group.id);
    putRows(group.querySelector("ol"), shown.querySelector("ol"));
    if (shown !== group) return group.remove();
    const behind = document.querySelector("#rail-list .group li[data-behind]:first-child")?.closest(".group");
    if (behind && behind !== group) behind.before(group);
    return undefined;
  }

  function putFurther() {
    const further = [...document.querySelectorAll("#rail-list > .group[data-further]")];
    const first = further[0]?.querySelector("li a");
    for (const group of further) putGroup(group);
    for (const group of document.querySelectorAll("#rail-list > .group")) if (!group.querySelector("li")) group.remove();
    // Who pressed the link with a key goes on from the first row that it brought.
    if (document.activeElement === document.body) first?.focus({ preventScroll: true });
  }

  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    if (ctx.target?.id === "rail-more") putFurther();
  });
})();
