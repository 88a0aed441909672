// Without this file everything works by forms and reloading. With it, a turn is seen while it happens:
// pieces of text from a server that streams, or the page asking again every second and a half.
(() => {
  const part = document.getElementById("chat-part");
  const form = document.querySelector(".chat-compose");
  const live = document.getElementById("chat-live");

  const works = () => part && part.querySelector("#chat-conversation")?.dataset.works === "1";

  async function ask() {
    try {
      const answer = await fetch(part.dataset.url, { headers: { "X-Requested-With": "XMLHttpRequest" } });
      if (answer.ok && !answer.redirected) part.innerHTML = await answer.text();
    } catch {
      // The server is away for a moment; the next question finds it.
    }
    if (works()) setTimeout(ask, 1500);
  }
  if (works()) setTimeout(ask, 1500);

  // Events of a response, one after the other, however the pieces were cut on their way.
  async function* told(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const events = rest.split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const kind = /^event: (.*)$/m.exec(event)?.[1];
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (kind && data) yield [kind, JSON.parse(data)];
      }
    }
  }

  async function send() {
    const text = form.elements.text;
    const [asked, answer] = live.querySelectorAll(".chat-text");
    asked.textContent = text.value;
    answer.textContent = "…";
    live.hidden = false;
    let said = "";
    const response = await fetch(form.dataset.stream, { method: "POST", body: new FormData(form) });
    if (!response.ok) throw new Error(response.status);
    for await (const [kind, data] of told(response)) {
      if (kind === "text") answer.textContent = said += data.text;
      else if (kind === "interim") answer.textContent = said = "";
      else if (kind === "held") {
        live.hidden = true;
        const notice = document.getElementById("chat-notice").content.cloneNode(true);
        notice.querySelector("[data-chat-text]").textContent = data.text;
        document.getElementById("chat-hint").replaceChildren(notice);
        return;
      } else if (kind === "end") window.location.assign(data.url);
    }
  }

  form?.addEventListener("submit", (event) => {
    if (!form.dataset.stream) return;
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    // What was asked for may be at work although nobody tells of it any more: look, and never send it again.
    send()
      .catch(() => part ? window.location.reload() : window.location.assign(form.action.replace(/new\/$/, "")))
      .finally(() => { button.disabled = false; });
  });
})();
