// What <agent-feed> has, for TypeScript; the README tells what each of it is for. Served as agent-feed.d.ts.

/** An event, a line of one, bytes that are cut anywhere, or a list of the first two. */
type AgentFeedPiece = string | ArrayBuffer | ArrayBufferView | object | Iterable<string | object>;

/** What `append` takes: pieces, or what gives such. */
type AgentFeedSource =
  | AgentFeedPiece
  | Blob
  | Request
  | Response
  | ReadableStream<AgentFeedPiece>
  | AsyncIterable<AgentFeedPiece>
  | PromiseLike<AgentFeedPiece | Blob | Request | Response | ReadableStream<AgentFeedPiece> | AsyncIterable<AgentFeedPiece>>;

type AgentFeedFile = Blob | { path: string; file: Blob };

/** A place that the page names: by the session's time, in seconds or as "1:23", or by an event. */
type AgentFeedMarker = { label: string; time: number | string } | { label: string; eventId: string };

/** What each event bears in `detail`. A name with a question mark is there where it is known. */
interface AgentFeedEventMap extends HTMLElementEventMap {
  "af-ready": CustomEvent<{ outcome?: string }>;
  "af-error": CustomEvent<{ message: string; refused: boolean }>;
  "af-state": CustomEvent<{ state: "loading" | "ready" | "live" | "ended" | "error" }>;
  "af-connection": CustomEvent<{ state: string; text: string; why: string }>;
  "af-session": CustomEvent<{ title: string; agent: string; sessionId: string }>;
  "af-badge": CustomEvent<{ badge: number }>;
  "af-permission": CustomEvent<{ session: string; requestId: string; decision: "allow" | "deny" | "cancel"; scope?: string; message?: string }>;
  "af-question": CustomEvent<{ session: string; requestId: string; outcome: "answered" | "rejected"; answers?: string[][] }>;
  "af-event": CustomEvent<{ count: number }>;
  "af-follow": CustomEvent<{ following: boolean; replay: boolean }>;
  "af-filter": CustomEvent<{ hits: number; hidden: number; question: string; only: string }>;
  "af-select": CustomEvent<{ eventId: string; name: string }>;
  "af-view": CustomEvent<{ attribute: string; value: string }>;
  "af-command": CustomEvent<{ command: string }>;
  "af-marker": CustomEvent<{ kind: "prompt" | "error" | "permission" | "compaction" | "edit" | "named"; eventId: string; label: string }>;
  "af-link": CustomEvent<{ eventId: string; href: string }>;
  "af-copy": CustomEvent<{ text: string }>;
  "af-open-file": CustomEvent<{ path: string; eventId: string; line?: number; cwd?: string }>;
}

interface AgentFeed extends HTMLElement {
  // Attributes: of one that is not there the text is "".
  src: string;
  session: string;
  endpoint: string;
  theme: string;
  density: string;
  follow: string;
  bar: string;
  shortcuts: string;
  readonly: boolean;
  memory: string;
  verbosity: string;
  thinking: string;
  announce: string;
  fold: string;
  group: string;
  diffView: string;
  diffPalette: string;
  wrap: boolean;
  opensFiles: boolean;
  controls: string;
  speed: string;
  idleLimit: string;
  loop: boolean;
  pauseOnMarkers: boolean;
  autoplay: boolean;
  startAt: string;
  poster: string;

  token: string | undefined;
  get markers(): AgentFeedMarker[];
  set markers(markers: Iterable<AgentFeedMarker> | null | undefined);
  set events(events: AgentFeedSource | null | undefined);
  append(events: AgentFeedSource): void;
  load(files: AgentFeedFile | Iterable<AgentFeedFile>): void;
  clear(): void;

  readonly ready: Promise<void>;
  readonly state: "" | "loading" | "ready" | "live" | "ended" | "error";
  readonly badge: number;
  readonly eventCount: number;
  readonly rowCount: number;

  goTo(eventId: string): void;
  /** The row that it goes to; -1 where there is none. */
  goToEvent(index: number): number;
  viewAsOf(index: number | null): number;

  /** Times are in seconds of playing. */
  currentTime: number;
  playbackRate: number;
  readonly duration: number;
  readonly paused: boolean;
  readonly ended: boolean;
  play(): Promise<void>;
  pause(): void;
  seek(seconds: number): void;
  returnToLive(): void;
  step(n?: number): void;

  search(question: string): Promise<number>;
  filter(question: string): Promise<number>;
  expandAll(): Promise<void>;
  collapseAll(): Promise<void>;
  copyLink(eventId?: string): Promise<string>;
  focusFeed(): Promise<void>;
  exportAs(form: "html" | "md" | "jsonl" | "json", options?: { mask?: boolean }): Promise<Blob>;

  addEventListener<K extends keyof AgentFeedEventMap>(type: K, listener: (event: AgentFeedEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

interface HTMLElementTagNameMap {
  "agent-feed": AgentFeed;
}
