// The class of <agent-feed>. Only a script can extend HTMLElement; everything else about the element is in wasm,
// behind the handle that `connect` returns.
export function defineElement(name, observed, connect) {
  if (customElements.get(name)) return;
  const encoder = new TextEncoder();
  const lines = (events) => {
    if (typeof events === "string") return encoder.encode(events.endsWith("\n") ? events : events + "\n");
    if (events instanceof Uint8Array) return events;
    const list = Array.isArray(events) ? events : [events];
    return encoder.encode(list.map((event) => JSON.stringify(event) + "\n").join(""));
  };
  customElements.define(name, class AgentFeed extends HTMLElement {
    static observedAttributes = observed;
    #root = this.attachShadow({ mode: "open" });
    #feed;
    #token;
    #early = [];

    connectedCallback() {
      if (this.#feed) return;
      // What was set before the class was known lies on the element itself, in front of the accessors.
      for (const property of ["token", "events"]) {
        if (!Object.hasOwn(this, property)) continue;
        const value = this[property];
        delete this[property];
        this[property] = value;
      }
      this.#feed = connect(this, this.#root);
      if (this.#token !== undefined) this.#feed.setToken(this.#token);
      for (const attribute of observed) {
        if (this.hasAttribute(attribute)) this.#feed.attributeChanged(attribute, this.getAttribute(attribute));
      }
      for (const job of this.#early.splice(0)) job(this.#feed);
    }
    disconnectedCallback() {
      // A move within the page disconnects and connects again at once; that must not empty the feed.
      queueMicrotask(() => {
        if (this.isConnected || !this.#feed) return;
        this.#feed.disconnect();
        this.#feed.free();
        this.#feed = undefined;
      });
    }
    attributeChangedCallback(attribute, before, value) {
      if (before !== value) this.#feed?.attributeChanged(attribute, value ?? undefined);
    }
    #when(job) { if (this.#feed) job(this.#feed); else this.#early.push(job); }

    get token() { return this.#token; }
    set token(token) { this.#token = token ?? undefined; this.#feed?.setToken(this.#token); }
    set events(events) { this.clear(); this.append(events); }
    // How much is new to the reader: rows that came while the page was hidden.
    get badge() { return this.#feed?.badge() ?? 0; }
    get eventCount() { return this.#feed?.eventCount() ?? 0; }
    get rowCount() { return this.#feed?.rowCount() ?? 0; }
    // Code comes plain and gets its colours from a worker; whether all that is shown has them, as for a picture of the page.
    get coloured() { return this.#feed?.isColoured() ?? true; }
    get scroller() { return this.#feed?.scroller() ?? null; }
    // A file, or the files of one session: a FileList, files, or { path, file }.
    load(files) {
      const list = files instanceof Blob ? [files] : [...files];
      const paths = list.map((file) => file.path ?? (file.webkitRelativePath || file.name || "session"));
      this.#when((feed) => feed.load(paths, list.map((file) => file.file ?? file)));
    }
    append(events) { const bytes = lines(events); this.#when((feed) => feed.append(bytes)); }
    clear() { this.#when((feed) => feed.clear()); }
    // To an event by its id: at once, or when it has come.
    goTo(eventId) { this.#when((feed) => feed.goTo(String(eventId))); }
    goToEvent(index) { return this.#feed?.goToEvent(index) ?? -1; }
    // As media elements have it; times in seconds of playing, idle stretches cut.
    play() { this.#when((feed) => feed.play("play", 0)); }
    pause() { this.#when((feed) => feed.play("pause", 0)); }
    seek(seconds) { this.#when((feed) => feed.play("seek", Number(seconds) * 1000)); }
    returnToLive() { this.#when((feed) => feed.play("live", 0)); }
    get currentTime() { return (this.#feed?.playing("time") ?? 0) / 1000; }
    set currentTime(seconds) { this.seek(seconds); }
    get duration() { return (this.#feed?.playing("duration") ?? 0) / 1000; }
    get paused() { return (this.#feed?.playing("paused") ?? 1) === 1; }
    get playbackRate() { return this.#feed?.playing("rate") ?? 1; }
    set playbackRate(rate) { this.#when((feed) => feed.play("rate", Number(rate))); }
    // The session as it was after an event, by its index; null shows all of it again.
    viewAsOf(index) { return this.#feed?.viewAsOf(index ?? undefined) ?? -1; }
    // Finds what is asked for as the find bar does, and shows it; how many rows fit, in all of the session. "" ends it.
    async search(question) { return Number(await this.#ask("search", question)); }
    // The same, with nothing else shown.
    async filter(question) { return Number(await this.#ask("filter", question)); }
    // So many events on, or back where it is less than 0.
    step(n = 1) { this.#when((feed) => feed.play("step", Number(n))); }
    async expandAll() { await this.#ask("expand"); }
    async collapseAll() { await this.#ask("collapse"); }
    // Copies the link to an event, or to the row with the focus, and gives it; af-link may be cancelled to copy nothing.
    async copyLink(eventId = "") { return this.#ask("link", eventId); }
    async focusFeed() { await this.#ask("focus"); }
    async #ask(what, text = "") {
      return new Promise((done, failed) => this.#when((feed) => feed.ask(what, String(text)).then(done, failed)));
    }
    // The session as a Blob: "html", "md", "jsonl" or "json"; masked, unless { mask: false } says otherwise.
    async exportAs(form, options) {
      if (!this.#feed) throw new Error("the element is in no page");
      return this.#feed.exportAs(String(form), options?.mask ?? true);
    }
    async serializeRows(options) { return this.#feed ? this.#feed.serializeRows(options?.maskTimes ?? false) : ""; }
  });
}
// What was kept of a key says all that it takes to press it. One before it may have led into a field: a key goes there then,
// and a letter is written, which no event that a page makes does.
export function pressAgain(place, key) {
  const focused = place.getRootNode().activeElement;
  const field = focused?.matches("input, textarea") ? focused : null;
  const writes = field && [...key.key].length === 1 && !key.ctrlKey && !key.metaKey && !key.altKey;
  if (!writes) return (field ?? place).dispatchEvent(new KeyboardEvent(key.type, key));
  field.setRangeText(key.key, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, data: key.key, inputType: "insertText" }));
}
