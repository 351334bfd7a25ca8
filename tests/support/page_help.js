// Runs in each page of a test before the page's own scripts: eyes and hands, nothing that the page could rely on.
addEventListener("securitypolicyviolation", (event) => {
  console.error("securitypolicyviolation", event.violatedDirective, event.blockedURI, event.sourceFile, event.lineNumber, event.sample);
});
addEventListener("drop", () => { __test.dropped += 1; }, true);
window.__test = {
  dropped: 0,
  // How the eyes look, whoever counts how often the page does.
  own: {
    bounds: Element.prototype.getBoundingClientRect,
    top: Object.getOwnPropertyDescriptor(Element.prototype, "scrollTop").get,
    height: Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight").get,
  },
  feeds: () => __test.all("agent-feed"),
  feed: () => __test.feeds()[0],
  // Elements of the page and of all shadow roots in it.
  all(selector, root = document) {
    const found = [...root.querySelectorAll(selector)];
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) found.push(...__test.all(selector, element.shadowRoot));
    return found;
  },
  one: (selector) => __test.all(selector)[0] ?? null,
  visible: (selector) => __test.all(selector).find((element) => element.checkVisibility() && element.getClientRects().length > 0) ?? null,
  // Text of the page and of all shadow roots, styles and scripts left out.
  text(node = document.body) {
    if (!node) return "";
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeName === "STYLE" || node.nodeName === "SCRIPT") return "";
    const children = [...node.childNodes, ...(node.shadowRoot?.childNodes ?? [])];
    return children.map((child) => __test.text(child)).join(" ");
  },
  rows: (feed = __test.feed()) => [...(feed?.shadowRoot?.querySelectorAll(".row") ?? [])],
  middle(element) {
    if (!element) return null;
    const box = element.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  },
  frame: () => new Promise((done) => requestAnimationFrame(() => done())),
  // After the next frame was drawn. What a frame's own callbacks read may never be painted: heights are settled after them.
  drawn: () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))),
  async frames(count) { for (let at = 0; at < count; at += 1) await __test.frame(); },
  sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
  // What the page does after so many milliseconds it does once it is let go: what it shows for a moment stays for who comes late.
  held: [],
  letGo: () => {},
  hold(ms) {
    const { setTimeout } = window;
    window.setTimeout = (act, after, ...more) => {
      if (after !== ms) return setTimeout.call(window, act, after, ...more);
      __test.held.push(act);
      return 0;
    };
    __test.letGo = () => {
      window.setTimeout = setTimeout;
      for (const act of __test.held.splice(0)) act();
    };
  },
  // When nothing of the feed has changed for some frames, all parts of the page are here, and no code waits for its colours;
  // false where that does not come within a minute.
  async rest(feed = __test.feed(), frames = 6) {
    const look = () => {
      const scroller = feed.scroller;
      const { bounds, top, height } = __test.own;
      return [feed.rowCount, feed.eventCount, top.call(scroller), height.call(scroller),
        ...__test.rows(feed).map((row) => bounds.call(row).top)].join();
    };
    let before = look();
    let calm = 0;
    const until = performance.now() + 60000;
    while (performance.now() < until && calm < frames) {
      await __test.frame();
      const now = look();
      const whole = performance.getEntriesByName("agent-feed: whole").length > 0;
      calm = now === before && whole && feed.coloured ? calm + 1 : 0;
      before = now;
    }
    return calm >= frames;
  },
  state: () => JSON.stringify({
    url: location.href, visibility: document.visibilityState,
    feeds: __test.feeds().map((feed) => ({
      state: feed.getAttribute("state"), src: feed.getAttribute("src"), session: feed.getAttribute("session"),
      events: feed.eventCount, rows: feed.rowCount, mounted: __test.rows(feed).length,
    })),
    text: __test.text().replace(/\s+/g, " ").slice(0, 700),
  }),
};
