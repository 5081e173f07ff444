// Driving the agent: what waits for a person, what is under way, menus, and completion in the
// composer. Beside enso.js and as small as it can be: everything here works without it, by forms.
(() => {
  "use strict";

  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const promptBox = () => find("form[data-composer] textarea");

  // -- what waits: counted in the title, told to who asked for it --------------------------------

  const open = () => all("#pane .dialog").filter((card) => !find(":scope > .outcome", card));

  function countWaiting() {
    const lists = find("#waiting-list"); // the page that lists them knows best
    const needed = lists ? 0 : Number(find("#rail-list > .waiting")?.dataset.needed ?? 0);
    const count = Math.max(needed, open().length);
    const title = document.title.replace(/^\(\d+\) /, "");
    const counted = count ? `(${count}) ${title}` : title;
    if (document.title !== counted) document.title = counted;
  }

  const mayNotify = () => "Notification" in window && Notification.permission === "granted";
  const mayAsk = () => "Notification" in window && Notification.permission === "default";
  const told = new Set(); // the questions that were told of, or were there when the page came
  let watching = false;

  function waiting() {
    const asks = all("#rail-list [data-asks]").map((one) =>
      [one.dataset.asks, one.dataset.threadTitle, one.textContent, one.dataset.href]);
    const cards = find("#waiting-list") ? [] : open();
    const here = cards.map((card) => [card.id, find("#pane h1")?.textContent, find("h2", card)?.textContent, ""]);
    const known = new Set(here.map(([id]) => id));
    return [...here, ...asks.filter(([id]) => !known.has(id))];
  }

  function tell() {
    const fresh = waiting().filter(([id]) => !told.has(id));
    for (const [id] of fresh) told.add(id);
    const speaks = watching && mayNotify() && !document.hasFocus();
    watching = true;
    for (const [id, thread, asks, href] of speaks ? fresh : []) {
      const note = new Notification(`${thread} needs you`, { body: asks, tag: `enso-${id}` });
      note.onclick = () => {
        window.focus();
        note.close();
        if (href) window.location.assign(href);
      };
    }
  }

  function offerToNotify() {
    for (const button of all("#pane .asked > [data-notify]")) button.hidden = !mayAsk();
  }

  document.addEventListener("click", async (event) => {
    if (!event.target.closest?.("[data-notify]")) return;
    await Notification.requestPermission();
    offerToNotify();
  });

  // A hidden tab lets its socket go, but not when it is to notify.
  document.addEventListener("visibilitychange", (event) => {
    if (document.hidden && mayNotify()) event.stopImmediatePropagation();
  });
  document.addEventListener("htmx:ws:before:connection", ({ detail }) => {
    detail.connection.config.pauseOnBackground = !mayNotify();
  });

  // -- what is under way -------------------------------------------------------------------------

  const SILENT_AFTER = 10; // seconds without an event before it is said
  const SPEAKS = ["asking", "answering", "compacting", ""]; // a tool and a wait may be silent
  let heard = Date.now();
  const busy = () => find("#pane .status [data-busy]");

  // The same words as enso/server/words.py.
  function wait(until) {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    if (seconds <= 0) return "now";
    return seconds < 100 ? `in ${seconds} s` : `in ${Math.ceil(seconds / 60)} min`;
  }

  function put(element, words) {
    if (element && element.textContent !== words) element.textContent = words;
  }

  function tick() {
    for (const time of all("#pane .status time[data-until]")) put(time, wait(new Date(time.dateTime)));
    const since = Math.floor((Date.now() - heard) / 1000);
    const silent = since >= SILENT_AFTER && SPEAKS.includes(busy()?.dataset.busy);
    put(find("#pane [data-silence]"), silent ? `No event for ${since} s` : "");
  }

  // What a prompt does depends on whether one is in flight; the box says so.
  function sayWhatEnterDoes() {
    const text = promptBox();
    if (!text?.form.querySelector(".steers")) return;
    text.dataset.placeholder ??= text.placeholder;
    const asked = open().length && matchMedia("(pointer: fine)").matches;
    const steers = asked ? "Steer it, or queue; ↑ to answer" : "Steer it, or queue";
    const words = busy() ? steers : text.dataset.placeholder;
    if (text.placeholder !== words) text.placeholder = words;
  }

  // Who pressed what is gone now goes on in the composer; a phone's keyboard stays where it is.
  const toComposer = () => matchMedia("(pointer: fine)").matches && promptBox()?.focus({ preventScroll: true });

  let held = null; // the dock's button that has the focus, also when it went away with it

  document.addEventListener("focusin", ({ target }) => (held = target.matches(".dock button") ? target : null));
  document.addEventListener("focusout", () => { if (held?.checkVisibility()) held = null; });

  function keepFocus() {
    if (!held || held.checkVisibility()) return;
    held = null;
    toComposer();
  }

  function look() {
    setTimeout(keepFocus); // what came is drawn by then
    countWaiting();
    tell();
    offerToNotify();
    sayWhatEnterDoes();
    tick();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-jump]");
    if (!link) return;
    event.preventDefault();
    const card = open()[0];
    card?.scrollIntoView({ block: "nearest" });
    find("button", card ?? document.body)?.focus({ preventScroll: true });
  });

  // -- forms: what follows when one was taken -----------------------------------------------------

  const ok = (ctx) => ctx.response.status < 300;

  function write(words, { replace = false } = {}) {
    const text = promptBox();
    if (!text) return;
    text.value = replace || !text.value.trim() ? words : `${words}\n${text.value}`;
    text.dispatchEvent(new InputEvent("input", { bubbles: true }));
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  }

  // A message as it was written: what was folded away stands behind its start.
  function writtenText(message) {
    return all(".written", message).map((part) => {
      const start = [...part.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      const rest = find(":scope > details > div", part);
      return start.map((node) => node.data).join("") + (rest ? (rest.dataset.behind ?? "") + rest.textContent : "");
    }).join("\n");
  }

  function imageFile(image, number) {
    const [, type, data] = image.src.match(/^data:([^;]+);base64,(.*)$/s) ?? [];
    if (!data) return null;
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    return new File([bytes], `image-${number + 1}`, { type });
  }

  function attach(images) {
    if (!images.length) return;
    const detail = { files: images, replace: true };
    find("form[data-composer]")?.dispatchEvent(new CustomEvent("enso:images", { bubbles: true, detail }));
  }

  const carried = new WeakMap(); // form → what it brings back into the composer

  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    const form = ctx.sourceElement;
    if (form?.matches?.("[data-take-back]")) {
      const words = find(".words", form.closest("li")).textContent;
      carried.set(form, { words, returned: [words] });
    } else if (ctx.request.submitter?.matches("[data-edit]")) {
      const message = form.closest("article");
      const images = all("figure.picture img", message).map(imageFile).filter(Boolean);
      carried.set(form, { words: writtenText(message), images, replace: true });
    } else if (ctx.request.submitter?.matches("[data-fork]")) {
      carried.set(form, { draft: writtenText(form.closest("article")) });
    } else if (form?.matches?.(".stop") && find("#pane .queue .words")) {
      // What was queued is not said any more: it goes back to who stopped the run.
      const returned = all("#pane .queue .words").map((one) => one.textContent);
      carried.set(form, { words: returned.join("\n\n"), returned });
    } else carried.delete(form ?? document);
    // What was said of the last thing that a person did stands until the next: what a page asks for
    // by itself (news, images, a list drawn again) is none.
    if (ctx.request.method === "GET") return;
    const prompts = form?.matches?.("[data-composer]");
    for (const line of all(prompts ? "#pane :is(.said, .told)" : "#pane .said")) line.replaceChildren();
  });

  // A fork ends before the message it was made from: its words wait in the new thread's composer,
  // as enso.js keeps a draft.
  function leaveDraft(href, words) {
    const thread = href && decodeURIComponent(new URL(href, location.href).pathname.split("/")[2]);
    try { window.sessionStorage.setItem(`enso-draft-${thread}`, words); } catch { /* may be forbidden */ }
  }

  document.addEventListener("click", (event) => {
    event.target.closest?.("[data-dismiss]")?.parentElement.replaceChildren();
  });

  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    const form = ctx.sourceElement;
    if (!form?.matches?.("form") || !ok(ctx)) return;
    if (form.matches("[data-answer]")) {
      ctx.keepIndicators = true; // it stays as it was sent, until the frame says what became of it
      const list = form.closest("#waiting-list");
      if (list) htmx.trigger(list, "refresh");
      const at = document.activeElement;
      if (at === document.body || form.closest(".dialog").contains(at)) toComposer();
    }
    if (form.matches("[data-menu]")) form.closest("[popover]")?.hidePopover();
    if (form.closest("[data-choose]")) window.location.reload();
    if (form.matches(".undo")) window.location.assign(form.action.replace(/\/restore(?=\?|$)/, ""));
    // Its message may have been drawn anew meanwhile, and the form be another one.
    if (form.matches("[data-acts]")) for (const acts of all(".acts[open]")) acts.open = false;
    const back = carried.get(form);
    if (!back) return;
    if (back.draft) return leaveDraft(ctx.response.headers.get("HX-Redirect"), back.draft);
    write(back.words, back);
    attach(back.images ?? []);
    const to = find("form[data-composer]");
    for (const detail of back.returned ?? []) to?.dispatchEvent(new CustomEvent("enso:returned", { bubbles: true, detail }));
  });

  // -- keys: answering without the pointer, and what was written before --------------------------

  // Letters answer only from within a card: whoever types must never allow something by it.
  document.addEventListener("keydown", (event) => {
    const card = event.target.closest?.(".dialog");
    if (!card || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") promptBox()?.focus();
    else if (event.target.matches("input, textarea")) return;
    else if (event.key === "d") find("[name=reason]", card)?.focus();
    else if ("at".includes(event.key)) find(`button[aria-keyshortcuts="${event.key}"]`, card)?.click();
    else return;
    event.preventDefault();
  }, true); // before Escape stops the run

  let recalled = -1; // which of the prompts, from the end, stands in the box; -1: none

  function recall(text, step) {
    const prompts = all("#pane article.user").map(writtenText).filter(Boolean).reverse();
    const at = recalled >= 0 && text.value === prompts[recalled] ? recalled : -1;
    if (text.value && at < 0) return false;
    const next = Math.min(at + step, prompts.length - 1);
    if (next === at || next < -1) return false;
    recalled = next;
    write(prompts[next] ?? "", { replace: true });
    return true;
  }

  document.addEventListener("keydown", (event) => {
    const text = event.target;
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step || list || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!text.matches?.("form[data-composer] textarea") || event.isComposing) return;
    const card = step > 0 && !text.value ? open()[0] : null;
    if (card) {
      card.focus({ preventScroll: true });
      card.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    } else if (recall(text, step)) event.preventDefault();
  });

  // -- menus ---------------------------------------------------------------------------------------

  // What a message offers is no more than text to a browser with scripts until somebody looks for
  // it: a form in every message is most of what a page of them would be laid out for.
  function unfold(acts) {
    const kept = find(":scope > noscript", acts);
    if (!kept) return;
    if (kept.firstElementChild) kept.replaceWith(...kept.childNodes); // what htmx parsed knows no scripts
    else kept.outerHTML = kept.textContent;
    htmx.process(acts);
  }

  document.addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches?.(".acts")) unfold(target);
  }, true);

  document.addEventListener("htmx:after:swap", () => all(".acts[open]").forEach(unfold));

  document.addEventListener("toggle", (event) => {
    const menu = event.target;
    if (!menu.matches?.(".menu") || event.newState !== "open") return;
    const chosen = find("#pane [data-model]")?.dataset;
    for (const form of all("form:has(> [name=model])", menu.matches(".model") ? menu : document.createElement("i"))) {
      const { provider, model } = form.elements;
      const isIt = provider.value === chosen?.provider && model.value === chosen?.model;
      find("button", form).setAttribute("aria-pressed", String(isIt));
    }
    const name = find("input[name=name]", menu);
    const heading = find("#pane h1");
    if (name && heading) name.value = heading.matches(".untitled") ? "" : heading.textContent;
    // A phone's keyboard does not jump up unasked.
    const typed = matchMedia("(pointer: fine)").matches ? (name ?? find(".filter", menu)) : null;
    (typed ?? find("[aria-pressed=true]", menu) ?? find("button", menu))?.focus();
    typed?.select();
  }, true);

  document.addEventListener("dblclick", (event) => {
    if (event.target.closest?.("#pane .pane-head h1")) find("#pane .menu.thread")?.showPopover();
  });

  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.(".menu");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!menu || !step) return;
    event.preventDefault();
    const stops = all("button, input:not([type=hidden])", menu).filter((one) => one.checkVisibility());
    stops[(stops.indexOf(event.target) + step + stops.length) % stops.length]?.focus();
  });

  document.addEventListener("input", (event) => {
    if (!event.target.matches?.("[data-filter]")) return;
    const wanted = event.target.value.trim().toLowerCase();
    const menu = event.target.closest(".menu");
    for (const form of all("form", menu)) form.hidden = !form.textContent.toLowerCase().includes(wanted);
    for (const group of all("section", menu)) group.hidden = !find("form:not([hidden])", group);
  });

  // -- completion: / at the start for commands, @ for files ----------------------------------------

  let list = null; // what is offered: { box, text, start, before, chosen }
  let wanted = null; // what was asked for last and has not come: the same, without a choice
  let putAway = ""; // what stood before the caret when the list was closed by hand

  const beforeCaret = (text) => text.value.slice(0, text.selectionStart);

  function typed(text) {
    const before = beforeCaret(text);
    if (text.selectionStart !== text.selectionEnd) return null;
    const command = text.dataset.commands && before.match(/^\/(\S*)$/);
    if (command) return { href: text.dataset.commands, query: command[1], start: 0, before };
    const file = text.dataset.filesOf && before.match(/(?:^|\s)@([^\s@]*)$/);
    if (!file) return null;
    return { href: text.dataset.filesOf, query: file[1], start: before.length - file[1].length - 1, before };
  }

  function closeList() {
    wanted = null;
    if (!list) return;
    list.box.replaceChildren();
    for (const name of ["activedescendant", "autocomplete", "controls", "haspopup"])
      list.text.removeAttribute(`aria-${name}`);
    list = null;
  }

  const options = () => (list ? all("[data-insert]", list.box) : []);

  function choose(index) {
    const offered = options();
    list.chosen = (index + offered.length) % offered.length;
    offered.forEach((option, at) => option.setAttribute("aria-selected", String(at === list.chosen)));
    offered[list.chosen].scrollIntoView({ block: "nearest" });
    list.text.setAttribute("aria-activedescendant", offered[list.chosen].id);
  }

  function insert(option) {
    const { text, start } = list;
    text.setRangeText(option.dataset.insert, start, text.selectionStart, "end");
    closeList();
    text.focus();
    text.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }

  function complete(text) {
    const box = find("[data-complete]", text.form);
    const asks = box && typed(text);
    if (!asks || asks.before === putAway) return closeList();
    putAway = "";
    wanted = { ...asks, box, text };
    const url = new URL(asks.href, window.location.href);
    url.searchParams.set("q", asks.query);
    return htmx.ajax("GET", url.pathname + url.search, { source: box, target: box, swap: "innerHTML" });
  }

  // A list opens for the text that it was asked for, and for no other that stands there by then.
  function offer(box) {
    const mine = wanted?.box === box && beforeCaret(wanted.text) === wanted.before ? wanted : null;
    if (!mine || !find("[data-insert]", box)) {
      box.replaceChildren();
      return closeList();
    }
    list = { ...mine, chosen: 0 };
    wanted = null;
    // A box of several lines stays a textbox: it can be no combobox, but it can have a list.
    const says = { haspopup: "listbox", autocomplete: "list", controls: box.id };
    for (const [name, value] of Object.entries(says)) list.text.setAttribute(`aria-${name}`, value);
    return choose(0);
  }

  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    if (ctx.target?.matches?.("[data-complete]")) offer(ctx.target);
  });

  document.addEventListener("input", (event) => {
    if (event.target.matches?.("form[data-composer] textarea")) complete(event.target);
  });

  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-composer]")) closeList();
  }, true);

  document.addEventListener("keydown", (event) => {
    if (!list || event.target !== list.text || event.isComposing || event.keyCode === 229) return;
    const before = beforeCaret(list.text);
    if (event.key === "Escape") {
      putAway = before;
      closeList();
      event.preventDefault();
    }
    if (!list || before !== list.before) return; // the list of what was typed before is no help now
    const option = options()[list.chosen];
    const isWhole = before.slice(list.start) === option.dataset.insert.trim();
    if (event.key === "ArrowDown") choose(list.chosen + 1);
    else if (event.key === "ArrowUp") choose(list.chosen - 1);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !isWhole)) insert(option);
    else return;
    event.preventDefault();
  }, true);

  // A tap must not take the focus, and with it a phone's keyboard, from the box.
  document.addEventListener("pointerdown", (event) => {
    if (event.target.closest?.("[data-complete]")) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const option = event.target.closest?.("[data-insert]");
    if (option && list) insert(option);
    else if (list && event.target !== list.text) closeList();
  });

  // -- what extensions show: a title of the page, a text for the composer -------------------------

  let suggested = ""; // what was put into the composer, and may be replaced

  function takeDraft() {
    const text = find("#pane [data-draft]")?.textContent;
    const box = promptBox();
    if (!text || !box || (box.value.trim() && box.value !== suggested)) return; // a person's own stays
    suggested = box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function takePageTitle() {
    const title = find("#pane [data-page-title]")?.dataset.pageTitle ?? find("#pane h1")?.textContent;
    if (title) document.title = `${title} · Enso`;
  }

  // -- begin ----------------------------------------------------------------------------------------

  document.addEventListener("htmx:ws:after:message:incoming", ({ detail }) => {
    const [, target] = String(detail.message.data).match(/^<hx-partial hx-target="#(\w+)/) ?? [];
    // News of the rail come on every socket: they are no event of this thread.
    if (target !== "rail") heard = Date.now();
    if (target === "draft") takeDraft();
    if (target === "surface") takePageTitle();
    if (target === "o" || target === "c") tick(); // text that grows changes nothing else
    else look();
  });
  document.addEventListener("htmx:finally:swap", ({ detail: { ctx } }) => {
    const at = ctx.target?.id ?? ctx.target;
    if (at === "pane" || at === "#pane") {
      heard = Date.now();
      list = null;
    }
    if (at === "rail-list" && find("#waiting-list")) htmx.trigger("#waiting-list", "refresh");
    look();
  });
  look();
  setInterval(tick, 1000);
})();
