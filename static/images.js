// Images in the composer: pasted, dropped or chosen, seen before they are sent, and taken away again.
// What no provider takes is said before it is sent, with the file's name and what to do about it; what
// can be made smaller is, on a press. The server says the same to who sends without this
// (enso/server/prompt_images.py); the limits stand on the file input.
(() => {
  "use strict";

  const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
  const SMALL_SIDE = 2000; // pixels; more is made smaller by the providers themselves
  const QUALITIES = [0.9, 0.8, 0.7, 0.5];

  const find = (selector, root) => root.querySelector(selector);
  const composer = () => document.querySelector("form[data-composer]");
  const input = (form) => find("input[data-files]", form);
  const held = new WeakMap(); // form → the files that go out with it
  const underWay = new WeakMap(); // form → the checks that are not done yet

  const filesOf = (form) => held.get(form) ?? [];
  const number = (value) => value.toLocaleString("en");
  const megabytes = (size, round = Math.ceil) => `${round(size / 1e5) / 10} MB`;
  const same = (one, other) =>
    one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;

  function limitsOf(form) {
    const { mostImages, mostBytes, mostSide, mostTogether } = input(form).dataset;
    return { images: +mostImages, bytes: +mostBytes, side: +mostSide, together: +mostTogether };
  }

  // -- what is wrong with a file ------------------------------------------------------------------

  async function decoded(file) {
    const image = new Image();
    image.src = URL.createObjectURL(file);
    try {
      await image.decode();
      return image;
    } catch {
      return null;
    } finally {
      URL.revokeObjectURL(image.src);
    }
  }

  // A sentence for what cannot be sent, and what the button does about it; null for what can.
  async function faultOf(file, limits) {
    const name = `“${file.name}”`;
    if (!file.type.startsWith("image/"))
      return { says: `${name} is no image. Name a file of the project with @, or paste its text.` };
    const picture = await decoded(file);
    const can = picture && picture.naturalWidth ? picture : null;
    const fix = (words) => (can ? { picture: can, words } : null);
    if (!SHOWN.includes(file.type)) {
      const way = can ? "" : " Save it as one of them.";
      return { says: `${name} is no PNG, JPEG, GIF or WebP image.${way}`, fix: fix("Convert it") };
    }
    if (file.size > limits.bytes) {
      const most = megabytes(limits.bytes, Math.floor);
      const way = can ? "" : " Make it smaller.";
      const says = `${name} has ${megabytes(file.size)}; an image may have at most ${most}.${way}`;
      return { says, fix: fix("Make it smaller") };
    }
    if (!can)
      return { says: `${name} cannot be read as an image: it is damaged, or of another kind. Save it anew.` };
    const sides = [can.naturalWidth, can.naturalHeight];
    if (Math.max(...sides) <= limits.side) return null;
    const pixels = sides.map(number).join(" × ");
    const says = `${name} is ${pixels} pixels; a side may have at most ${number(limits.side)}.`;
    return { says, fix: fix("Make it smaller") };
  }

  function tooMany(kept, file, limits) {
    if (kept.length >= limits.images)
      return `“${file.name}” is left out: one prompt takes at most ${limits.images} images. Send it with the next.`;
    const together = kept.reduce((sum, one) => sum + one.size, file.size);
    if (together <= limits.together) return "";
    const most = megabytes(limits.together, Math.floor);
    return `“${file.name}” is left out: together the images may have at most ${most}. Send it with the next.`;
  }

  // -- making one smaller -------------------------------------------------------------------------

  const blobOf = (canvas, type, quality) => new Promise((done) => canvas.toBlob(done, type, quality));

  function drawn(picture, side, opaque) {
    const scale = Math.min(1, side / Math.max(picture.naturalWidth, picture.naturalHeight));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(picture.naturalWidth * scale));
    canvas.height = Math.max(1, Math.round(picture.naturalHeight * scale));
    const pen = canvas.getContext("2d");
    if (opaque) {
      pen.fillStyle = "white";
      pen.fillRect(0, 0, canvas.width, canvas.height);
    }
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas;
  }

  // PNG as long as that fits, because a screenshot's text stays sharp; else JPEG, ever smaller.
  async function smaller(file, picture, limits) {
    const named = (blob, end) => new File([blob], file.name.replace(/\.[^.]*$/, "") + end, { type: blob.type });
    for (let side = SMALL_SIDE; side >= 250; side /= 2) {
      if (file.type !== "image/jpeg") {
        const png = await blobOf(drawn(picture, side, false), "image/png");
        if (png && png.size <= limits.bytes) return named(png, ".png");
      }
      for (const quality of QUALITIES) {
        const jpeg = await blobOf(drawn(picture, side, true), "image/jpeg", quality);
        if (jpeg && jpeg.size <= limits.bytes) return named(jpeg, ".jpg");
      }
    }
    return null;
  }

  // -- what is held, and what is said --------------------------------------------------------------

  const MOST_KEPT = 8; // threads, and prompts, whose images are kept as long as the page is

  function keep(map, key, files) {
    map.delete(key);
    if (files.length) map.set(key, files);
    if (map.size > MOST_KEPT) map.delete(map.keys().next().value);
  }

  const drafts = new Map(); // thread, or "new" → the images of what was not sent there
  const said = new WeakMap(); // form → the words that go out with the images now
  const gone = new Map(); // what was said → the images that went with it, should it come back

  function draftOf() {
    const log = document.querySelector("[data-log]");
    return log?.hasAttribute("data-fresh") ? "new" : log?.dataset.thread;
  }

  function hold(form, files) {
    keep(drafts, draftOf(), files);
    held.set(form, files);
    const transfer = new DataTransfer();
    for (const file of files) transfer.items.add(file);
    input(form).files = transfer.files;
    const place = find("[data-previews]", form);
    for (const old of place.querySelectorAll("img")) URL.revokeObjectURL(old.src);
    place.replaceChildren(...files.map((file) => preview(form, file)));
  }

  function preview(form, file) {
    const figure = document.createElement("figure");
    const image = document.createElement("img");
    image.src = URL.createObjectURL(file);
    image.alt = file.name;
    image.title = `${file.name}, ${megabytes(file.size)}`;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "×";
    remove.ariaLabel = `Remove ${file.name}`;
    remove.addEventListener("click", () => {
      const at = filesOf(form).indexOf(file);
      hold(form, filesOf(form).filter((one) => one !== file));
      const left = form.querySelectorAll("[data-previews] button");
      (left[Math.min(at, left.length - 1)] ?? find("textarea", form)).focus();
    });
    figure.append(image, remove);
    return figure;
  }

  function say(form, file, { says, fix }) {
    const line = document.createElement("p");
    const words = document.createElement("span");
    words.textContent = says;
    line.append(words);
    const button = (label, press) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = "quiet";
      made.textContent = label;
      made.addEventListener("click", press);
      line.append(" ", made);
    };
    if (fix) button(fix.words, async () => {
      line.remove();
      const made = await smaller(file, fix.picture, limitsOf(form));
      if (made) await add(form, [made]);
      else say(form, file, { says: `“${file.name}” could not be made small enough.` });
      find("textarea", form).focus();
    });
    button("Dismiss", () => line.remove());
    find("[data-left-out]", form).append(line);
  }

  async function check(form, files, replace) {
    const limits = limitsOf(form);
    const kept = replace ? [] : [...filesOf(form)];
    for (const file of files) {
      if (kept.some((one) => same(one, file))) continue;
      const fault = await faultOf(file, limits);
      const many = fault ? "" : tooMany(kept, file, limits);
      if (fault || many) say(form, file, fault ?? { says: many });
      else kept.push(file);
    }
    hold(form, kept);
  }

  // One after the other, and a prompt waits for them: what was dropped first stands first.
  function add(form, files, { replace = false } = {}) {
    const before = underWay.get(form) ?? Promise.resolve();
    const now = before.then(() => check(form, files, replace)).finally(() => {
      if (underWay.get(form) === now) underWay.delete(form);
    });
    underWay.set(form, now);
    return now;
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!underWay.has(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    underWay.get(form).then(() => form.requestSubmit(event.submitter));
  }, true);

  // -- the ways in ------------------------------------------------------------------------------------

  document.addEventListener("change", (event) => {
    if (!event.target.matches?.("input[data-files]")) return;
    const { form, files } = event.target;
    const chosen = [...files];
    hold(form, filesOf(form)); // a second choice adds to the first
    add(form, chosen);
  });
  document.addEventListener("enso:images", ({ target, detail }) => {
    if (input(target)) add(target, detail.files, detail);
  });
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    const form = ctx.sourceElement;
    if (form?.matches?.("form[data-composer]")) said.set(form, find("textarea", form).value.trim());
  });
  document.addEventListener("enso:sent", ({ target }) => {
    if (!input(target)) return;
    keep(gone, said.get(target), filesOf(target));
    hold(target, []);
    find("[data-left-out]", target).replaceChildren();
  });
  // What was queued comes back with its images.
  document.addEventListener("enso:returned", ({ target, detail: words }) => {
    if (input(target)) add(target, gone.get(words.trim()) ?? []);
  });
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    const form = ctx.target?.id === "pane" ? composer() : null;
    if (form && input(form) && drafts.has(draftOf())) hold(form, drafts.get(draftOf()));
  });
  document.addEventListener("paste", (event) => {
    const form = composer();
    const files = [...(event.clipboardData?.files ?? [])];
    // A table's cells come as text and as their picture: then the text is meant.
    if (!form || !form.contains(event.target) || !files.length || event.clipboardData.getData("text/plain")) return;
    event.preventDefault();
    add(form, files);
  });
  document.addEventListener("dragover", (event) => {
    const form = composer();
    if (!form || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    form.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) composer()?.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    const form = composer();
    form?.classList.remove("dropping");
    if (!form || !event.dataTransfer?.files.length) return;
    event.preventDefault(); // a file must not replace the page
    add(form, [...event.dataTransfer.files]);
  });
})();
