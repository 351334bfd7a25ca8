// The class of <agent-feed>. Only a script can extend HTMLElement; everything else about the element is in wasm,
// behind the handle that `connect` returns.
export function defineElement(name, observed, connect) {
  if (customElements.get(name)) return;
  const encoder = new TextEncoder();
  // A link names an event in the page's address; which feed is meant is known where there is one.
  const feeds = new Set();
  const followLink = () => {
    const eventId = new URLSearchParams(location.hash.slice(1)).get("e");
    if (eventId && feeds.size === 1) for (const feed of feeds) feed.goTo(eventId);
  };
  addEventListener("hashchange", followLink);
  const line = (event) => {
    const text = typeof event === "string" ? event : JSON.stringify(event);
    return text.endsWith("\n") ? text : text + "\n";
  };
  const lines = (events) => {
    if (events == null) throw new TypeError("append() takes events, text, bytes or a stream");
    if (ArrayBuffer.isView(events)) return new Uint8Array(events.buffer, events.byteOffset, events.byteLength);
    // Told by what they can do: those of another window are of other classes.
    if (events.byteLength !== undefined) return new Uint8Array(events);
    const list = typeof events !== "string" && events[Symbol.iterator] ? [...events] : [events];
    return encoder.encode(list.map(line).join(""));
  };
  // What comes later or in pieces: what is promised, a stream, or what has one, as a file and an answer have.
  const has = (events, name) => typeof events?.[name] === "function";
  const comes = (events) => ["then", "stream", "arrayBuffer", "getReader", Symbol.asyncIterator].some((name) => has(events, name));
  const streamOf = (events) => {
    if (has(events, "stream")) return events.stream();
    if (has(events, "arrayBuffer")) return events.body ?? new Blob().stream();
    return comes(events) ? events : [events];
  };
  // How it ends is of no use to anybody.
  const end = async (from) => {
    try { await (from?.cancel ?? from?.return)?.call(from); } catch { return; }
  };
  class AgentFeed extends HTMLElement {
    static observedAttributes = observed;
    #root = this.attachShadow({ mode: "open" });
    #states = this.attachInternals().states;
    #feed;
    #token;
    #markers = [];
    #early = [];
    // Whether a script shows something in the place of what `src` and `session` name: what is said last is shown.
    #isGiven = false;
    // Which of the two was named last.
    #named;
    // What reads the streams that events come from, and how many there were.
    #streams = new Set();
    #numbered = 0;
    // Whether they have all ended.
    #isWhole = false;
    // Shows the files that are shown now.
    #files;
    // What was shown and has no address, while the element is in no page: shows files, or pieces of a log.
    #given;
    // What is shown of it: whether the end is followed, and whether it is of the past.
    #shown = {};
    #whole;
    #ready = new Promise((done) => {
      const told = ({ type, detail }) => {
        if (type === "af-ready" || /^(live|ended)$/.test(this.state)) done();
        if (type === "af-follow") this.#shown = detail;
        this.#tellStates();
      };
      for (const type of ["af-ready", "af-state", "af-follow"]) this.addEventListener(type, told);
    });

    connectedCallback() {
      if (this.#feed) {
        this.#act("moved");
        return;
      }
      // What was set before the class was known lies on the element itself, in front of the accessors.
      for (const [property, value] of Object.entries(this)) {
        if (!(property in AgentFeed.prototype)) continue;
        delete this[property];
        Reflect.set(this, property, value);
      }
      this.#feed = connect(this, this.#root);
      feeds.add(this);
      // Once all that are in the page are known.
      queueMicrotask(followLink);
      if (this.#token !== undefined) this.token = this.#token;
      if (this.#markers.length) this.markers = this.#markers;
      const given = this.#given;
      for (const attribute of [...observed.filter((it) => it !== this.#named), this.#named]) {
        if (!attribute || (this.#isGiven && /^(src|session)$/.test(attribute))) continue;
        if (this.hasAttribute(attribute)) this.#feed.attributeChanged(attribute, this.getAttribute(attribute));
      }
      this.#given = undefined;
      if (typeof given === "function") given(this.#feed);
      else for (const piece of given ?? []) this.#feed.append(piece, false, false);
      if (given && this.#isWhole) this.#act("given");
      for (const job of this.#early.splice(0)) job(this.#feed);
    }
    disconnectedCallback() {
      // A move within the page disconnects and connects again at once; that must not empty the feed.
      queueMicrotask(() => {
        if (this.isConnected || !this.#feed) return;
        feeds.delete(this);
        this.#endStreams();
        const pieces = this.#feed.pieces();
        this.#given = pieces.length > 0 ? pieces : this.#files;
        this.#feed.act("disconnect", 0);
        this.#feed.free();
        this.#feed = undefined;
      });
    }
    // A browser takes the style sheets from what comes into another document.
    adoptedCallback() { this.#act("adopted"); }
    attributeChangedCallback(attribute, before, value) {
      // One that is taken away leaves what a script gave.
      const names = value && /^(src|session)$/.test(attribute);
      // What is named once more is shown again, where it is not what is shown.
      if (before === value && !(names && (this.#isGiven || this.state === "error"))) return;
      if (names) {
        this.#leave();
        this.#isGiven = false;
        this.#named = attribute;
        this.#early = this.#early.filter((job) => !job.shows);
      }
      this.#feed?.attributeChanged(attribute, value ?? undefined);
    }
    // What a page's own styles can ask for: `agent-feed:state(live)`.
    #tellStates() {
      const is = { [this.state]: true, ...this.#shown };
      is.replay ||= is.ready;
      for (const state of ["loading", "live", "error", "replay", "following"]) {
        // Not every browser has such states.
        try { this.#states[is[state] ? "add" : "delete"](state); } catch { return; }
      }
    }
    #act(what, value = 0) { return this.#feed?.act(what, value) ?? 0; }
    #when(job) { if (this.#feed) job(this.#feed); else this.#early.push(job); }
    #show(job) {
      this.#isGiven = job.shows = true;
      this.#when(job);
    }
    #do(what, value) { this.#when((feed) => feed.act(what, Number(value ?? 0))); }

    get token() { return this.#token; }
    set token(token) { this.#token = token ?? undefined; this.#feed?.attributeChanged("token", this.#token); }
    // Places that the page names: `{ label, time }`, in seconds of the session or as "1:23", or `{ label, eventId }`.
    get markers() { return [...this.#markers]; }
    set markers(markers) {
      this.#markers = [...(markers ?? [])];
      this.#feed?.attributeChanged("markers", JSON.stringify(this.#markers));
    }
    // An array of events, lines, or a stream of either.
    set events(events) {
      // Frameworks write nothing before they know what it is.
      if (events == null && !this.#isGiven) return;
      this.clear();
      if (events != null) this.append(events);
    }
    append(events) {
      // A request is asked here.
      if (has(events, "arrayBuffer") && events.method) events = fetch(events);
      if (comes(events)) {
        this.#read(events);
        return;
      }
      const bytes = lines(events);
      // Bytes are cut anywhere: they go on where others ended. What else there is is whole.
      if (bytes.length) this.#push(bytes, events.byteLength === undefined);
    }
    #push(bytes, begins) {
      const isOpen = this.#streams.size > 0;
      let isTaken = true;
      this.#show((feed) => {
        this.#files = undefined;
        isTaken = feed.append(bytes, isOpen, begins);
      });
      return isTaken;
    }
    async #read(events) {
      // Stands for what is not here yet.
      let from = {};
      const isWanted = () => this.#streams.has(from);
      const broken = (why) => this.#when((feed) => feed.attributeChanged("broken", why));
      // What came of a line whose end did not, and of a character.
      const begun = [];
      let half = "";
      let [begins, came, wasPacked] = [true, false, false];
      // How it begins. Packed bytes and pages have no lines: they are unpacked as they come, and what they unpack to has.
      const head = [];
      const isPacked = () => /^(31,139|40,181|[89]\d,42|60,33)$/.test(head);
      const number = ++this.#numbered;
      try {
        this.#streams.add(from);
        if (has(events, "then")) events = await events;
        if (has(events, "arrayBuffer") && events.ok === false) {
          end(events.body);
          if (isWanted()) broken(`the server answered ${events.status}: ${events.url}`);
          return;
        }
        const stream = streamOf(events);
        if (!isWanted()) {
          end(stream);
          return;
        }
        const reader = stream.getReader?.() ?? (stream[Symbol.asyncIterator] ?? stream[Symbol.iterator]).call(stream);
        this.#streams.delete(from);
        this.#streams.add(from = reader);
        for (let done; !done;) {
          const next = await (from.read?.() ?? from.next());
          if (!isWanted()) return;
          done = next.done;
          let piece = done ? (came && !isPacked() ? "\n" : "") : next.value;
          if (typeof piece === "string") {
            const [, whole, rest] = /^(.*?)([\uD800-\uDBFF]?)$/s.exec(half + piece);
            half = rest;
            piece = encoder.encode(whole);
          } else piece = lines(piece);
          came ||= piece.length > 0;
          head.push(...piece.subarray(0, 2 - head.length));
          // Others may give lines in between: this one's are handed on when they are whole. Of nothing the end is, too.
          const isNothing = done && !came;
          const packed = [piece];
          if (isPacked() && !wasPacked) {
            wasPacked = true;
            packed.unshift(...begun.splice(0));
            // It is shown from here on what the stream gives, once it is in a page.
            await new Promise((known) => this.#when(known));
            if (!isWanted() || !this.#push(new Uint8Array(), true)) return;
          }
          for await (piece of wasPacked ? this.#unpacked(number, packed, done, isWanted) : [piece]) {
            if (!isWanted()) return;
            const to = piece ? piece.lastIndexOf(10) + 1 : 0;
            let isTaken = piece !== null;
            if (to || isNothing) {
              for (const bytes of [...begun.splice(0), piece.subarray(0, to)]) {
                if (!bytes.length && !isNothing) continue;
                if (!isWanted()) return;
                isTaken = this.#push(bytes, begins);
                if (!isTaken) break;
                begins = false;
              }
            }
            if (!isTaken) {
              // It cannot be read, and that was said.
              this.#streams.delete(from);
              end(from);
              return;
            }
            begun.push(piece.slice(to));
          }
        }
      } catch (why) {
        if (isWanted()) broken(`the stream broke off: ${why?.message ?? why}`);
      } finally {
        if (wasPacked) this.#act("unpacked", number);
        // However it ended: nothing more comes of it.
        if (this.#streams.delete(from) && !this.#streams.size) {
          this.#isWhole = true;
          this.#do("given");
        }
      }
    }
    // What the next bytes of a packed stream unpack to, and a line's end behind all of it; null where they cannot be unpacked.
    async *#unpacked(number, bytes, done, isWanted) {
      for (let packed = new Uint8Array(await new Blob(bytes).arrayBuffer()); isWanted(); packed = new Uint8Array()) {
        const unpacked = await this.#feed.unpack(number, packed, done);
        if (unpacked?.length === 0) break;
        yield unpacked;
        if (!unpacked) return;
      }
      if (done) yield encoder.encode("\n");
    }
    #endStreams() {
      for (const from of this.#streams) end(from);
      this.#streams.clear();
    }
    // Something else is shown from now on.
    #leave() {
      this.#endStreams();
      this.#given = this.#files = undefined;
      this.#isWhole = false;
    }
    // Who waits for it may print it, which takes all of the program.
    get ready() { return this.#whole ??= this.#ready.then(() => this.#ask("whole")).then(() => {}, () => {}); }
    get state() { return this.getAttribute("state") ?? ""; }
    // How much is new to the reader: rows that came while the page was hidden.
    get badge() { return this.#act("badge"); }
    get eventCount() { return this.#act("events"); }
    get rowCount() { return this.#act("rows"); }
    // Code comes plain and gets its colours from a worker; whether all that is shown has them, as for a picture of the page.
    get coloured() { return !this.#feed || this.#act("coloured") === 1; }
    get scroller() { return this.#root.querySelector(".scroller"); }
    // A file, or the files of one session: a FileList, files, or { path, file }.
    load(files) {
      const list = has(files, Symbol.iterator) ? [...files] : [files];
      const blobs = list.map((file) => file?.file ?? file);
      if (!blobs.every((blob) => has(blob, "stream"))) throw new TypeError("load() takes files; src takes an address");
      const paths = list.map((file) => file.path ?? (file.webkitRelativePath || file.name || "session"));
      this.#leave();
      const show = (feed) => {
        this.#files = show;
        feed.load(paths, blobs);
      };
      this.#show(show);
    }
    clear() { this.#leave(); this.#show((feed) => feed.act("clear", 0)); }
    // To an event by its id: at once, or when it has come.
    goTo(eventId) { this.#when((feed) => feed.attributeChanged("event", String(eventId))); }
    goToEvent(index) { return this.#feed?.act("event", index) ?? -1; }
    // As media elements have it; times in seconds of playing, idle stretches cut.
    async play() { this.#do("play"); }
    pause() { this.#do("pause"); }
    seek(seconds) { this.#do("seek", seconds * 1000); }
    returnToLive() { this.#do("live"); }
    get currentTime() { return this.#act("time") / 1000; }
    set currentTime(seconds) { this.seek(seconds); }
    get duration() { return this.#act("duration") / 1000; }
    get paused() { return !this.#feed || this.#act("paused") === 1; }
    get ended() { return this.#act("ended") === 1; }
    get playbackRate() { return this.#feed ? this.#act("rate") : 1; }
    set playbackRate(rate) { this.#do("speed", rate); }
    // The session as it was after an event, by its index; null shows all of it again.
    viewAsOf(index) { return this.#feed?.act("as-of", index ?? -1) ?? -1; }
    // Finds what is asked for as the find bar does, and shows it; how many rows fit, in all of the session. "" ends it.
    async search(question) { return Number(await this.#ask("search", question)); }
    // The same, with nothing else shown.
    async filter(question) { return Number(await this.#ask("filter", question)); }
    // So many events on, or back where it is less than 0.
    step(n = 1) { this.#do("step", n); }
    async expandAll() { await this.#ask("expand"); }
    async collapseAll() { await this.#ask("collapse"); }
    // Copies the link to an event, or to the row with the focus, and gives it; af-link may be cancelled to copy nothing.
    async copyLink(eventId = "") { return this.#ask("link", eventId); }
    async focusFeed() { await this.#ask("focus"); }
    async #ask(what, text = "") {
      // It may never be in one again.
      if (!this.#feed) throw new Error("the element is in no page");
      return this.#feed.ask(what, String(text));
    }
    // The session as a Blob: "html", "md", "jsonl" or "json"; masked, unless { mask: false } says otherwise.
    async exportAs(form, options) {
      return this.#ask((options?.mask ?? true) ? "export" : "export-whole", form);
    }
    async serializeRows(options) { return this.#feed ? this.#ask("rows", options?.maskTimes ? "masked" : "") : ""; }
  }
  // Attributes are properties, too: `start-at` is `startAt`.
  for (const attribute of observed) {
    // One that a method is called by is an attribute alone: `filter`.
    if (attribute in AgentFeed.prototype) continue;
    const isFlag = /^(readonly|autoplay|loop|wrap|opens-files|pause-on-markers)$/.test(attribute);
    Object.defineProperty(AgentFeed.prototype, attribute.replace(/-./g, (it) => it[1].toUpperCase()), {
      get() { return isFlag ? this.hasAttribute(attribute) : this.getAttribute(attribute) ?? ""; },
      set(value) {
        if (value == null || (isFlag && value === false)) this.removeAttribute(attribute);
        else this.setAttribute(attribute, isFlag && value === true ? "" : value);
      },
    });
  }
  customElements.define(name, AgentFeed);
}
// What was kept of a key says all that it takes to press it. One before it may have led into a field: a key goes there then,
// and a letter is written, which no event that a page makes does.
export function pressAgain(place, key) {
  const root = place.getRootNode();
  const focused = root.activeElement;
  const field = focused?.matches("input, textarea") ? focused : null;
  const writes = field && [...key.key].length === 1 && !key.ctrlKey && !key.metaKey && !key.altKey;
  const { type, ctrlKey, shiftKey } = key;
  if (!writes) {
    // It stays in the feed: what the page around does with a key, it has done. Firefox lets each key out.
    const stay = (event) => event.stopPropagation();
    root.addEventListener(type, stay);
    const isFree = (field ?? place).dispatchEvent(new KeyboardEvent(type, { key: key.key, ctrlKey, shiftKey, bubbles: true, cancelable: true }));
    root.removeEventListener(type, stay);
    return isFree;
  }
  field.setRangeText(key.key, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, data: key.key, inputType: "insertText" }));
}
