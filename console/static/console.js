// What plain HTML cannot do: a turn that is followed as it is made, files that
// are dropped, texts that are copied, and the last requests and drafts, which this
// browser alone remembers. Texts are put in as texts; HTML comes from the server only.
"use strict";

const token = () => document.body.dataset.token;
const prefix = document.body.dataset.prefix;

// --- what this browser remembers ---

const remembered = (name) => JSON.parse(localStorage.getItem("svc." + name) || "[]");

function remember(name, label, href) {
  const all = remembered(name).filter((one) => one.href !== href);
  all.unshift({ label: label.slice(0, 100), href });
  try {
    localStorage.setItem("svc." + name, JSON.stringify(all.slice(0, 10)));
  } catch {
    localStorage.removeItem("svc." + name); // full: what is remembered is a convenience
  }
  showRemembered();
}

function showRemembered() {
  for (const section of document.querySelectorAll("[data-remembered]")) {
    const all = remembered(section.dataset.remembered);
    section.hidden = all.length === 0;
    section.querySelector("ul").replaceChildren(...all.map((one) => {
      const link = document.createElement("a");
      link.textContent = one.label || one.href;
      link.href = one.href.startsWith(prefix) ? one.href : "#";
      const line = document.createElement("li");
      line.append(link);
      return line;
    }));
  }
}

function rememberDecision() {
  const request = document.querySelector("#answers[data-request]")?.dataset.request;
  if (!request || request.length > 6000) return; // an address cannot hold more
  const { state, questions } = JSON.parse(request);
  const text = typeof state === "string" ? state : JSON.stringify(state);
  remember("decide", Object.keys(questions).join(", ") + ": " + text, prefix + "/decide?request=" + encodeURIComponent(request));
}

// --- pieces of pages ---

// The server sends a piece of the page instead of the whole to who asks so.
const asked = { "X-Console-Fragment": "1" };

function nodesOf(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

// load puts in the pieces below root that are marked with where they come from,
// and asks again for those that come back marked. What has not changed stays as it is,
// and nothing is asked for while nobody looks at the page.
function load(root) {
  for (const place of root.querySelectorAll("[data-load]")) fill(place);
}

const shown = new WeakMap(); // the HTML of pieces that are asked for again and again

function fill(place) {
  setTimeout(async () => {
    if (document.hidden && place.dataset.delay) return fill(place);
    const answer = await fetch(place.dataset.load, { headers: asked }).catch(() => null);
    if (!place.parentNode) return; // it was removed meanwhile
    if (!answer) return place.dataset.delay ? fill(place) : undefined; // its link is still there
    const html = await answer.text();
    if (shown.get(place) === html) return fill(place);
    const nodes = [...nodesOf(html).children];
    place.replaceWith(...nodes);
    for (const node of nodes) {
      shown.set(node, html);
      if ("load" in node.dataset) fill(node);
      load(node);
    }
  }, Number(place.dataset.delay || 0));
}

// replace sends a form, and puts the answer in the place that the form names.
async function replace(form, submitter) {
  for (const button of form.querySelectorAll("button.primary")) button.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, submitter)), headers: asked });
  const place = document.getElementById(form.dataset.replaces);
  place.replaceChildren(nodesOf(await answer.text()));
  load(place);
  thresholds(place);
  rememberDecision();
  const answers = document.getElementById("answers");
  if (answers?.dataset.request && answers.getBoundingClientRect().top > innerHeight) answers.scrollIntoView();
}

// --- copying ---

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select the text to copy it";
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-secret]");
  if (button) copy(button, button.closest("section, .code").querySelector("pre").textContent);
});

// --- forms ---

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) event.preventDefault();
  if ("signout" in form.dataset) for (const name of Object.keys(localStorage)) if (name.startsWith("svc.")) localStorage.removeItem(name);
  if (event.defaultPrevented) return;
  if ("respond" in form.dataset || "replaces" in form.dataset || "rows" in form.dataset) event.preventDefault();
  if ("rows" in form.dataset) judgeRows(form);
  if ("respond" in form.dataset) respond(form);
  if ("replaces" in form.dataset) replace(form, event.submitter);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
    const button = event.target.form?.querySelector("button.primary");
    if (button && !button.disabled) event.target.form.requestSubmit(button);
  }
});

// --- drafts ---

const draftOf = (form) => "svc.draft." + form.dataset.draft;

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("[data-draft]");
  if (!form || event.target.name !== "text") return;
  try {
    localStorage.setItem(draftOf(form), event.target.value);
  } catch {} // full: a draft is a convenience
});

function showDraft() {
  const form = document.querySelector("[data-draft]");
  if (form) form.elements.text.value ||= localStorage.getItem(draftOf(form)) || "";
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input.matches("[data-kind]")) {
    const whole = input.closest(input.dataset.kind || "form");
    for (const part of whole.querySelectorAll("[data-for]")) {
      if (input.dataset.kind || !part.closest("fieldset")) part.hidden = !part.dataset.for.split(" ").includes(input.value);
    }
  }
  if (input.matches("#file")) input.form.querySelector("[data-attachments]").replaceChildren(); // it shows another one
  if (input.matches("[data-upload]")) upload(input.form, input.dataset.upload, input.files).then(() => { input.value = ""; });
});

// A key presses the button or follows the link that names it.
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const place = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!place) return;
  event.preventDefault();
  place.click();
});

// --- files ---

function problem(form, text) {
  const place = form.querySelector("[data-problem]") || form;
  const note = document.createElement("p");
  note.className = "wrong";
  note.setAttribute("role", "alert");
  note.textContent = text;
  place === form ? form.prepend(note) : place.replaceChildren(note);
}

async function upload(form, where, files) {
  for (const file of files) {
    const body = new FormData();
    body.append("file", file);
    const answer = await fetch(prefix + "/files", { method: "POST", body, headers: { Accept: "application/json", "X-Console-Token": token(), ...asked } });
    if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
      problem(form, textOf(await answer.text()));
      continue;
    }
    for (const one of await answer.json()) attach(form, where, one);
  }
}

// textOf is the text of a piece of HTML, which is never put into the page.
const textOf = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent.trim();

// attach shows a file in a form, as the server tells of it. The form for a decision
// has one at most, and no button for what the choice of its state takes away.
function attach(form, where, file) {
  const list = form.querySelector("[data-attachments]");
  const line = document.createElement("li");
  const about = document.createElement("div");
  const path = prefix + "/files/" + encodeURIComponent(file.id) + "/attached";
  about.dataset.load = path;
  line.append(about);
  if (where === "file") {
    const kind = form.querySelector("[name=kind]");
    kind.value = "file";
    kind.dispatchEvent(new Event("change", { bubbles: true }));
    form.querySelector("[name=file]").value = file.id;
    list.replaceChildren(line);
  } else {
    const input = document.createElement("input");
    input.type = "hidden";
    input.name = "file_id";
    input.value = file.id;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "quiet";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", "Remove " + file.filename);
    remove.addEventListener("click", () => line.remove());
    line.append(input, remove);
    list.append(line);
  }
  load(line);
}

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const place = event.target.closest?.("[data-drop], [data-drop-form], .drop");
    if (!place || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    place.classList.toggle("over", kind === "dragover");
    if (kind !== "drop") return;
    const form = place.closest("form");
    if (form.matches("[data-drop-form]")) {
      form.querySelector("input[type=file]").files = event.dataTransfer.files;
      form.requestSubmit();
    } else {
      upload(form, form.matches("[data-respond]") ? "attachments" : "file", event.dataTransfer.files);
    }
  });
}

// --- decisions ---

// thresholds puts a slider over the bars of an answer, which says what would be
// accepted.
function thresholds(root) {
  for (const answer of root.querySelectorAll("[data-threshold]")) {
    answer.removeAttribute("data-threshold");
    const label = document.createElement("label");
    label.className = "threshold";
    label.innerHTML = 'Accept from <input type="range" min="0" max="100" value="80"> <output></output>';
    answer.querySelector(".verdict").after(label);
    const input = label.querySelector("input");
    const show = () => {
      const best = Math.max(...[...answer.querySelectorAll("rect.fill")].map((bar) => Number(bar.getAttribute("width"))));
      for (const mark of answer.querySelectorAll(".mark")) {
        mark.setAttribute("x", Math.min(input.value, 99.5));
        mark.setAttribute("width", 0.5);
      }
      const accepted = best >= Number(input.value);
      label.querySelector("output").textContent = input.value + " %: " + (accepted ? "accepted" : "left to a person");
      answer.classList.toggle("left", !accepted);
    };
    input.addEventListener("input", show);
    show();
  }
}

// judgeRows sends a file of rows, says how far it is, and offers the answers.
async function judgeRows(form) {
  const place = form.querySelector("[data-progress]");
  const bar = document.createElement("progress");
  const said = document.createElement("span");
  const end = document.createElement("button");
  const stopping = new AbortController();
  end.type = "button";
  end.textContent = "Stop";
  end.addEventListener("click", () => stopping.abort());
  place.replaceChildren(bar, said, end);
  const again = document.querySelector("#decide [data-again]");
  if (again) form.elements.request.value = again.dataset.again;
  const parts = [];
  let done = -1; // the header is no row
  let quoted = false;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: asked, signal: stopping.signal });
    if (!answer.headers.has("X-Rows")) throw new Error(textOf(await answer.text()));
    bar.max = Number(answer.headers.get("X-Rows"));
    for (const reader = answer.body.getReader(); ;) {
      const { value, done: over } = await reader.read();
      if (over) break;
      parts.push(value);
      for (const byte of value) {
        if (byte === 34) quoted = !quoted;
        else if (byte === 10 && !quoted) done++;
      }
      bar.value = Math.max(0, done);
      said.textContent = Math.max(0, done) + " of " + bar.max + " judged";
    }
    bar.value = bar.max;
    said.textContent = bar.max + " rows judged";
  } catch (error) {
    said.textContent = stopping.signal.aborted ? "Stopped." : error.message;
  }
  end.remove();
  if (!parts.length) return;
  const link = document.createElement("a");
  link.className = "button";
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
  link.download = "judged.csv";
  link.textContent = "Download the answers";
  place.append(link);
}

// --- a turn as it is made ---

async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block);
      const data = /^data: (.*)$/m.exec(block);
      if (event && data) yield { event: event[1], data: JSON.parse(data[1]) };
    }
  }
}

function article(role, text) {
  const item = document.createElement("article");
  item.className = "item message " + role;
  const title = document.createElement("h3");
  title.textContent = role;
  const body = document.createElement("pre");
  body.dir = "auto";
  body.textContent = text;
  item.append(title, body);
  return item;
}

async function respond(form) {
  const button = form.querySelector("button.primary");
  const said = form.elements.text.value;
  const turn = document.createElement("section");
  turn.className = "turn";
  turn.setAttribute("aria-label", "Turn");
  if (said) turn.append(article("user", said));
  document.getElementById("turns").append(turn);
  const body = new URLSearchParams(new FormData(form));
  button.disabled = true;
  form.elements.text.value = "";
  localStorage.removeItem(draftOf(form));
  turn.scrollIntoView({ block: "end" });
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/event-stream", "X-Console-Token": token(), ...asked } });
    await follow(answer, turn, said);
  } catch (error) {
    problem(form, error.message);
    if (turn.childElementCount < 2) turn.remove();
    form.elements.text.value ||= said;
  }
  button.disabled = false;
}

function note(text) {
  const line = document.createElement("p");
  line.className = "note";
  line.textContent = text;
  return line;
}

// grow adds a piece to a message where its text ends.
function grow(message, text) {
  let place = message.querySelector(":scope > pre, :scope > .md");
  while (place.lastElementChild && place.lastElementChild.tagName !== "BR") place = place.lastElementChild;
  place.append(text);
}

// keepUp keeps the end of the page in sight, where it was.
function keepUp() {
  const page = document.documentElement;
  if (page.scrollHeight - page.scrollTop - innerHeight < 200) requestAnimationFrame(() => scrollTo(0, page.scrollHeight));
}

const responsePage = (id) => prefix + "/respond?response=" + encodeURIComponent(id);

// follow shows a turn as it is made. From its beginning on the address is that of
// the turn, so that the page can be loaded again.
async function follow(answer, turn, said) {
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) throw new Error(textOf(await answer.text()));
  let open = null;
  for await (const { event, data } of eventsOf(answer.body)) {
    keepUp();
    if (event === "begun" && said !== undefined) {
      history.replaceState(null, "", responsePage(data));
      remember("respond", said || data, responsePage(data));
      turn.append(stop(data));
    } else if (event === "text") {
      if (!open) turn.append(open = article("assistant", ""));
      grow(open, data);
    } else if (event === "message") {
      if (!open) turn.append(open = article("assistant", ""));
      const html = document.createElement("div");
      html.className = "md";
      html.dir = "auto";
      html.append(nodesOf(data));
      open.querySelector("pre, .md").replaceWith(html);
    } else if (event === "item") {
      const item = nodesOf(data);
      open ? open.replaceWith(item) : turn.append(item);
      open = null;
    } else if (event === "wrong") {
      throw new Error(data);
    } else if (event === "unkept") {
      turn.append(note(data));
      return;
    } else if (event === "end") {
      await refresh();
      return;
    }
  }
  throw new Error("The answer broke off. Load the page again to see what there is of it.");
}

// stop is a form that ends a turn.
function stop(id) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = prefix + "/responses/" + encodeURIComponent(id) + "/cancel";
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "token";
  field.value = token();
  const button = document.createElement("button");
  button.textContent = "Stop";
  form.append(field, button);
  return form;
}

// refresh shows the page as it is now, where it was scrolled to. What has been
// written into the form for the next turn stays.
async function refresh() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const written = document.getElementById("text")?.value;
  const y = scrollY;
  document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
  const text = document.getElementById("text");
  if (text && written) text.value = written;
  scrollTo(0, y);
  start();
}

// --- start ---

function start() {
  load(document);
  showDraft();
  thresholds(document);
  showRemembered();
  rememberDecision();
  for (const place of document.querySelectorAll("[data-follow]")) {
    fetch(place.dataset.follow, { headers: asked }).then((answer) => follow(answer, place)).catch((error) => place.append(note(error.message)));
  }
}

document.querySelector("header nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
start();
