// Enso in the browser: what htmx leaves to us. Keys, drafts, where the log is scrolled to,
// which row is marked, what the status line says of a lost connection. No eval, no framework.
(() => {
  "use strict";

  const NEAR_END = 24; // pixels from the end within which a reader counts as reading along
  const find = (selector, root = document) => root.querySelector(selector);
  const log = () => find("[data-log]");
  const rail = () => document.getElementById("rail");
  const composer = () => find("form[data-composer]");
  const isPane = (target) => target === "#pane" || target?.id === "pane";

  // -- the log: pinned to its end for who reads along ------------------------------------------

  let pinned = true;
  let lastTop = 0;
  const toGo = (box) => box.scrollHeight - box.scrollTop - box.clientHeight;
  const nearEnd = (box) => toGo(box) <= NEAR_END;

  function toEnd() {
    const box = log();
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    lastTop = box.scrollTop;
  }

  // Offered to who is more than a window away from the end.
  function offerEnd(box) {
    const button = find("[data-to-end]");
    if (button) button.hidden = toGo(box) <= box.clientHeight;
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-to-end]")) return;
    pinned = true;
    toEnd();
    log()?.focus({ preventScroll: true }); // the button goes away
  });

  document.addEventListener("scroll", (event) => {
    const box = event.target;
    if (!(box instanceof Element) || !box.matches("[data-log]")) return;
    if (nearEnd(box)) pinned = true;
    else if (box.scrollTop < lastTop - 1) pinned = false; // growth alone is no scrolling away
    lastTop = box.scrollTop;
    offerEnd(box);
  }, { capture: true, passive: true });

  // Older messages went from above: not a scroll of the reader's.
  document.addEventListener("enso:shorter", ({ target: box }) => {
    if (pinned) toEnd();
    else lastTop = box.scrollTop;
  });

  // What a reader opens must not jump away from under the pointer.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-log] summary")) pinned = false;
  }, true);

  const grown = new ResizeObserver(() => {
    if (pinned) toEnd();
    else if (log()) offerEnd(log());
  });

  // -- earlier messages: the reader stays where they read --------------------------------------

  const anchors = new WeakMap(); // a request → what its reader looked at when its answer came

  function holdPlace(ctx) {
    const box = ctx.sourceElement.closest("[data-log]");
    const edge = box.getBoundingClientRect().top;
    const first = [...box.querySelectorAll("article")].find(
      (one) => one.getBoundingClientRect().bottom > edge && !one.closest("details:not([open])"));
    if (first) anchors.set(ctx, { box, first, top: first.getBoundingClientRect().top });
  }

  function keepPlace(ctx) {
    const anchor = anchors.get(ctx);
    if (!anchor?.first.isConnected) return;
    anchor.box.scrollTop += anchor.first.getBoundingClientRect().top - anchor.top;
    lastTop = anchor.box.scrollTop;
  }

  // -- times ------------------------------------------------------------------------------------

  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

  function day(date, now) {
    const words = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
    return date.getFullYear() === now.getFullYear() ? words : `${words} ${date.getFullYear()}`;
  }

  // The same words as enso/server/ages.py.
  function age(date, now) {
    const seconds = (now - date) / 1000;
    if (seconds < 60) return "now";
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    const days = Math.round((midnight(now) - midnight(date)) / 86400000);
    if (days === 0 || seconds < 6 * 3600) return `${Math.floor(seconds / 3600)} h`;
    return days === 1 ? "yesterday" : day(date, now);
  }

  function clock(date, now) {
    const time = `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
    return midnight(date) - midnight(now) === 0 ? time : `${day(date, now)}, ${time}`;
  }

  function refreshTimes(root) {
    const now = new Date();
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      const words = time.hasAttribute("data-clock") ? clock(date, now) : age(date, now);
      if (time.textContent !== words) time.textContent = words;
      const exact = date.toLocaleString();
      if (time.title !== exact) time.title = exact;
    }
  }

  // -- the rail ---------------------------------------------------------------------------------

  function markRow() {
    const current = find("#pane [data-thread]")?.dataset.thread; // a log's, or a tree's
    let marked = null;
    for (const link of document.querySelectorAll("#rail-list a[data-thread]")) {
      if (link.dataset.thread === current) {
        link.setAttribute("aria-current", "page");
        marked = link;
      } else link.removeAttribute("aria-current");
    }
    return marked;
  }

  // What shows a whole thread is drawn again when its row says something new: it ran, or it grew.
  let said = null;
  const says = (link) => link && [
    link.dataset.thread, find(".sign", link)?.getAttribute("class"),
    find(".count", link)?.textContent, find("time", link)?.dateTime].join(" ");

  function renew(link) {
    const now = says(link);
    const shown = now && now !== said && find("#pane [data-renewed]");
    if (shown && !find("details[open]", shown)) htmx.trigger(shown, "renew"); // else it would close
    if (now) said = now;
  }

  // A thread gets its title with its first prompt, or a new one from elsewhere.
  function takeTitle(link) {
    const title = link && find(".title:not(.untitled)", link)?.textContent;
    const heading = log() && find("#pane .pane-head h1"); // a tree has a heading of its own
    if (!title || !heading || heading.textContent === title) return;
    heading.textContent = title;
    heading.title = title;
    heading.classList.remove("untitled");
    document.title = `${title} · Enso`;
  }

  // A closed sheet has no place to scroll: the open row is brought into view when it opens.
  document.addEventListener("toggle", (event) => {
    if (event.target === rail() && event.newState === "open") markRow()?.scrollIntoView({ block: "center" });
  }, true);

  function closeSheet() {
    const sheet = rail();
    if (sheet?.matches(":popover-open")) sheet.hidePopover();
  }

  function clearRailError() {
    document.getElementById("rail-error")?.replaceChildren();
  }

  // -- a new pane -------------------------------------------------------------------------------

  // Every page of a new thread has an id of its own: what is typed there is kept for the next one,
  // unless something waits for that very thread, as in an empty fork.
  function draftKey() {
    const own = `enso-draft-${log()?.dataset.thread}`;
    const isNew = log()?.hasAttribute("data-fresh") && !store((storage) => storage.getItem(own));
    return isNew ? "enso-draft-new" : own;
  }

  function store(action) {
    try { return action(window.sessionStorage); } catch { return null; } // storage may be forbidden
  }

  // Asks for no layout: what is observed is told in the next frame, and then a log goes to its end.
  function settlePane() {
    pinned = true;
    grown.disconnect();
    const box = log();
    if (box) for (const child of box.children) grown.observe(child);
    toPlace(box);
    const text = find("textarea", composer() ?? document.createElement("form"));
    const draft = text && !text.value && store((storage) => storage.getItem(draftKey()));
    if (draft) text.value = draft;
  }

  // A page that is opened at a message shows it first, and does not run to the end.
  function toPlace(box) {
    const message = box?.dataset.at && document.getElementById(box.dataset.at);
    if (!message) return;
    for (let fold = message.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    pinned = false;
    message.classList.add("at");
    message.scrollIntoView({ block: "start" });
  }

  function arrive() {
    settlePane();
    if (pinned) toEnd();
    refreshTimes(document);
    clearRailError();
    closeSheet();
    const row = markRow();
    said = says(row);
    row?.scrollIntoView({ block: "nearest" });
    find("#here")?.scrollIntoView({ block: "center" }); // the place in a tree
    if (!focusFresh()) find("#pane h1")?.focus({ preventScroll: true });
  }

  // A new thread waits for its prompt; a phone's keyboard does not jump up unasked.
  function focusFresh() {
    if (!log()?.hasAttribute("data-fresh") || !matchMedia("(pointer: fine)").matches) return false;
    const text = find("form[data-composer] textarea");
    text?.focus({ preventScroll: true });
    return Boolean(text);
  }

  // -- the composer -----------------------------------------------------------------------------

  function newId() {
    if (crypto.randomUUID) return crypto.randomUUID(); // only where the page counts as secure
    return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  }

  const sent = new WeakMap(); // form → the text that was sent
  const failed = new WeakSet(); // forms whose last prompt failed: an edit makes it another prompt

  function say(form, sentence) {
    const place = find(".refused-prompt", form);
    if (place) place.textContent = sentence;
  }

  function accepted(form) {
    const text = find("textarea", form);
    if (text.value === sent.get(form)) text.value = "";
    form.dispatchEvent(new CustomEvent("enso:sent", { bubbles: true }));
    form.elements.promptId.value = newId();
    failed.delete(form);
    say(form, "");
    settleProject(form);
    store((storage) => storage.removeItem(draftKey()));
    log()?.removeAttribute("data-fresh");
    pinned = true;
    toEnd();
  }

  // With its first prompt, or what is set before it, a thread belongs to its project: there is nothing
  // to choose any more.
  function settleProject(form) {
    const choice = find("[data-project] select");
    if (!choice) return;
    const name = document.createElement("span");
    name.textContent = choice.selectedOptions[0]?.text ?? "";
    // It stays said: a thread of which nothing is stored yet may be let go before its prompt.
    const kept = document.createElement("input");
    Object.assign(kept, { type: "hidden", name: choice.name, value: choice.value });
    form.append(kept);
    find("#pane .meta")?.prepend(name);
    choice.closest("[data-project]").remove();
    find("textarea", form).placeholder = "Continue this thread";
  }

  document.addEventListener("keydown", (event) => {
    const text = event.target;
    if (!(text instanceof HTMLTextAreaElement) || !text.form?.matches("[data-composer]")) return;
    // keyCode 229: the key belongs to an input method, though isComposing says no (Safari).
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    if (event.defaultPrevented) return; // a completion was taken with it
    event.preventDefault();
    if (text.value.trim() || find("[data-files]", text.form)?.files.length) text.form.requestSubmit(sender(text.form, event.altKey));
  });

  // Enter presses the button that is offered now: Send, or Steer while a run is in flight.
  function sender(form, waits) {
    const offered = [...form.querySelectorAll(".sends button")].filter((one) => one.form === form && one.checkVisibility());
    return offered.find((one) => waits && one.matches(".queues")) ?? offered.find((one) => !one.matches(".queues"));
  }

  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-composer]") || !(event.target instanceof HTMLTextAreaElement)) return;
    if (failed.delete(form)) form.elements.promptId.value = newId();
    store((storage) => storage.setItem(draftKey(), event.target.value));
    prepare(form);
  });

  // Somebody types: what the first prompt needs is loaded meanwhile. Said once a page.
  let prepared = false;
  function prepare(form) {
    if (prepared) return;
    prepared = true;
    fetch(form.dataset.prepare, { method: "POST" }).catch(() => (prepared = false));
  }

  // -- keys -------------------------------------------------------------------------------------

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && !event.defaultPrevented) {
      if (event.target.id === "find-q") event.target.blur();
      else if (find("#pane .status [data-busy]") && !find(":popover-open")) find(".stop button")?.click();
    }
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      if (rail() && getComputedStyle(rail()).display === "none") rail().showPopover?.();
      document.getElementById("find-q")?.focus();
    } else if (event.key === "n") {
      event.preventDefault();
      document.getElementById("new-thread")?.click();
    }
  });

  // -- htmx -------------------------------------------------------------------------------------

  const isRestore = (ctx) => Boolean(ctx?.request?.headers?.["HX-History-Restore-Request"]);

  // htmx 4.0.1 cannot abort a restore: a click during a slow Back would be overwritten by Back's late
  // answer. With a signal of our own the click's request replaces it, as it replaces any other.
  document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
    // A button's own address holds with htmx as it does without.
    const address = ctx.request.submitter?.getAttribute("formaction");
    if (address) ctx.request.action = address;
    if (!isRestore(ctx)) return;
    const own = new AbortController();
    ctx.request.signal = own.signal;
    ctx.request.abort = (reason) => own.abort(reason);
  });

  // What is set in a new thread begins it, in the project that is chosen by then.
  document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
    const choice = ctx.sourceElement?.matches?.("form[data-menu]") && find("[data-project] select");
    if (choice) ctx.request.body?.set(choice.name, choice.value);
  });
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    const form = composer();
    if (form && ctx.sourceElement?.matches?.("form[data-menu]") && ctx.response.status < 300) settleProject(form);
  });

  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    const source = ctx.sourceElement;
    if (source?.matches?.("form[data-composer]")) sent.set(source, find("textarea", source).value);
  });

  // News of the rail may have waited for another request: they ask for the rows that are shown by now.
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    if (!ctx.sourceElement?.closest?.("#rail-news")) return;
    const url = new URL(ctx.request.action, location.href);
    url.searchParams.set("q", document.getElementById("find-q")?.value ?? "");
    url.searchParams.set("shown", document.getElementById("rail-shown")?.value ?? "");
    ctx.request.action = url.pathname + url.search;
  });

  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    const source = ctx.sourceElement;
    if (!source?.matches?.("form[data-composer]")) return;
    if (ctx.response.status < 300) accepted(source);
    else failed.add(source);
  });

  document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
    if (isRestore(ctx)) return window.location.reload();
    const source = ctx?.sourceElement;
    if (source?.matches?.("form[data-composer]")) {
      failed.add(source);
      say(source, "Enso could not be reached. The text is kept: send it again.");
    } else if (source instanceof Element && !ctx.response) sayUnreached(source, ctx.sourceEvent);
    return undefined;
  });

  // What a person did and what did not arrive is said where they did it, until something arrives.
  const BY_HAND = ["click", "submit", "input", "search"];
  const SAID_IN = { ".dialog": ".says", "[data-drawer]": ".said", "#rail": "#rail-error", "#pane": ".said" };

  function sayUnreached(source, event) {
    if (!BY_HAND.includes(event?.type)) return;
    const [box, line] = Object.entries(SAID_IN).find(([one]) => source.closest(one)) ?? ["#rail", "#rail-error"];
    const place = find(line, source.closest(box) ?? document) ?? document.getElementById("rail-error");
    const words = document.createElement("span");
    words.dataset.unreached = "";
    words.textContent = "Enso could not be reached.";
    place?.replaceChildren(words);
    source.closest(".menu:not(.thread)")?.hidePopover(); // it would hide what is said
  }

  function unsayUnreached() {
    for (const words of document.querySelectorAll("[data-unreached]")) words.remove();
  }

  document.addEventListener("htmx:after:request", unsayUnreached);

  document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
    if (ctx.sourceElement?.matches?.("[data-earlier], [data-again]")) holdPlace(ctx);
  });

  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    keepPlace(ctx);
    if (isPane(ctx.target)) arrive();
    else if (ctx.target?.id === "rail-list") {
      const row = markRow();
      takeTitle(row);
      renew(row);
      refreshTimes(rail());
    }
  });

  document.addEventListener("htmx:after:settle", ({ target }) => {
    if (target instanceof Element && target.closest("[data-log], [data-renewed]")) refreshTimes(target);
  });

  // -- the drawer: opens with what came into it --------------------------------------------------

  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    const drawer = ctx.target;
    if (!(drawer instanceof Element) || !drawer.isConnected || !drawer.matches("[data-drawer]")) return;
    drawer.scrollTop = 0;
    if (!drawer.matches(":popover-open")) drawer.showPopover();
    refreshTimes(drawer);
    find("h2", drawer)?.focus({ preventScroll: true });
  });

  // Its menu closed when it opened: who closes it goes on where that menu is.
  document.addEventListener("toggle", ({ target, newState }) => {
    if (!target.matches?.("[data-drawer]") || newState !== "closed") return;
    const at = document.activeElement;
    if (at === document.body || !at.checkVisibility()) find("#pane .manage")?.focus({ preventScroll: true });
  }, true);

  // -- the socket: the status line never claims to know what it cannot ---------------------------

  document.addEventListener("htmx:ws:close", ({ detail }) => {
    if (detail.reason !== "closed" || document.hidden) return;
    const line = find("#pane .status");
    if (!line) return;
    const tries = detail.connection.config.reconnectCodes.includes(detail.code);
    const words = document.createElement("span");
    words.textContent = tries ? "Connection lost, trying again…" : "No longer connected. Reload the page to go on.";
    line.replaceChildren(words);
    line.classList.add("lost");
  });
  document.addEventListener("htmx:ws:after:message:incoming", () => {
    const line = find("#pane .status.lost");
    if (!line) return;
    line.classList.remove("lost");
    unsayUnreached();
  });

  // What streamed gets the id that it has in the file: the element stays, with all that is open in it.
  document.addEventListener("htmx:ws:before:message:incoming", ({ detail }) => {
    const [, was, now] = String(detail.message.data).match(/^<hx-partial [^>]* data-was="([^"]+)" data-now="([^"]+)">/) ?? [];
    const article = was && document.getElementById(`m-${was}`);
    if (!article) return;
    for (const one of [article, ...article.querySelectorAll("*")]) {
      for (const { name, value } of [...one.attributes]) {
        if (value.includes(was)) one.setAttribute(name, value.replaceAll(was, now));
      }
    }
  });

  // A snapshot says what the pane missed. What the rail missed is told to whoever says how old it is.
  document.addEventListener("htmx:ws:before:connection", ({ detail: { connection } }) => {
    const drawn = document.getElementById("rail-shown")?.dataset.version;
    if (!drawn) return;
    const url = new URL(connection.url);
    url.searchParams.set("rail", drawn);
    connection.url = url.href;
  });

  // -- begin ------------------------------------------------------------------------------------

  settlePane();
  const shown = markRow();
  said = says(shown);
  focusFresh();
  refreshTimes(document);
  shown?.scrollIntoView({ block: "nearest" });
  find("#here")?.scrollIntoView({ block: "center" });
  setInterval(() => refreshTimes(document), 30000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshTimes(document); });
})();
