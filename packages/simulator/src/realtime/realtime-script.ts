/** What goes wrong, or otherwise, with the next session. Absent members: nothing. */
export interface SessionScript {
  /** The handshake is answered with this instead. */
  readonly refuse?: { readonly status: number; readonly body: unknown };
  /** The first event is this one, and then the session is closed; `close`: it is closed without one. */
  readonly first?: object | 'close';
  /** The first event waits for it. */
  readonly gate?: Promise<void>;
}

/** The same of the next response. */
export interface ResponseScript {
  /** What it reports in place of what it used; null: nothing. */
  readonly usage?: unknown;
  readonly status?: 'completed' | 'incomplete' | 'failed';
  /** What it says, in pieces. Default: the same few words. */
  readonly words?: readonly string[];
  /** Pieces of sound, and the bytes of each. */
  readonly pieces?: number;
  readonly pieceBytes?: number;
  /** The connection breaks after so many pieces. */
  readonly cutAfter?: number;
  /** It goes on after its pieces when this is over, or when it is cancelled. */
  readonly gate?: Promise<void>;
  /** Its end is reported so often. */
  readonly ends?: number;
}

/** What becomes of all sessions and responses for which nothing is scripted. */
export interface RealtimeBehaviour {
  readonly session?: () => SessionScript | undefined;
  /** @param asked what was added to the conversation last */
  readonly response?: (asked: string) => ResponseScript | undefined;
  /** Called when a session begins. */
  readonly onSession?: (closed: Promise<unknown>) => void;
  /** Called when a response has ended, or its connection has. */
  readonly onResponse?: (served: ServedResponse) => void;
}

export interface ServedResponse {
  /** As for `response`. */
  readonly asked: string;
  /** Whether its end was reported. */
  readonly isComplete: boolean;
}

/** One session, as the provider saw it. */
export interface SimulatedSession {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What it was sent, parsed. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly closed: Promise<number>;
  /** Bytes that the other side has not taken. */
  readonly untakenBytes: number;
  /** Sends any event. */
  send(event: object | string): void;
  /** Begins a response by itself, as after the caller's turn. */
  respond(): void;
  close(code: number): void;
  /** Breaks the connection. */
  cut(): void;
}

export interface SimulatedRealtime {
  readonly sessions: readonly SimulatedSession[];
  scriptSession(script: SessionScript): void;
  scriptResponse(script: ResponseScript): void;
}
