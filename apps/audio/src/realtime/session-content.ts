import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { callerNamesIn } from '@gateway/model-service/caller-names';
import type { ContentLog, ContentNote, LoggedContent } from '@gateway/model-service/content-log/content-log';

interface SessionContentOptions {
  readonly log: ContentLog;
  /** Whether there is a content log now. */
  readonly isOn: () => boolean;
  readonly headers: IncomingHttpHeaders;
  /** By the caller's name. */
  readonly model: string;
  readonly channel: string;
  /** How long a transcript may take that belongs to a response which has ended. */
  readonly settleMs: number;
}

/** A response, as it ended. */
interface EndedResponse {
  /** That of its usage record. */
  readonly id: string;
  readonly requestId: string;
  readonly identity: Pick<Identity, 'keyId' | 'team'>;
  /** What its provider reports of it, or what came of it; null: nothing. */
  readonly answer: JsonObject | null;
  /** Why the answer is no whole one. */
  readonly error: Pick<GatewayError, 'code' | 'message'> | null;
}

/** What of a response goes to the content log. */
export interface ResponseContent {
  /** For its usage record. */
  readonly note: ContentNote;
  /** It has been let in: its input is what was added since the response before. */
  begin(asked: JsonObject): void;
  end(ended: EndedResponse): void;
  cancel(): void;
}

/** Speech of the caller's, which its transcript may follow. */
interface Speech {
  readonly type: 'input_audio';
  readonly seconds: number;
  transcript?: string;
}

/** What was added since the response before. */
interface Taken {
  readonly input: readonly unknown[];
  readonly isCut: boolean;
  /** Items whose transcripts have not come. */
  readonly awaited: ReadonlySet<unknown>;
}

/** Characters, as JSON, that are held of what no response has followed, and of a transcript. */
const MAX_HELD = 256 * 1024;
/** Transcripts that are waited for, and ended responses that wait for theirs. */
const MAX_PENDING = 64;

/** Gathers what is said and written in a session, for the lines of its responses. It holds no sound. */
export class SessionContent {
  readonly #options: SessionContentOptions;
  #added: { readonly item: unknown; readonly size: number }[] = [];
  #size = 0;
  #isCut = false;
  #heardMs = 0;
  #instructions: unknown;
  /** By their items. */
  readonly #awaited = new Map<unknown, Speech>();
  readonly #waiting = new Set<() => void>();

  constructor(options: SessionContentOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.isOn();
  }

  /** A `session` that the provider reports. */
  sessionIs({ instructions }: JsonObject): void {
    if (this.isOn) this.#instructions = instructions;
  }

  /** Sound of the caller's has come. */
  heard(ms: number): void {
    this.#heardMs += ms;
  }

  /** An item of the caller's. */
  added(item: unknown): void {
    if (this.isOn) this.#add(withoutMedia(item));
  }

  #add(item: unknown): void {
    const size = sizeOf(item);
    if (size === null) {
      this.#isCut = true;
      return;
    }
    this.#added.push({ item, size });
    this.#size += size;
    while (this.#size > MAX_HELD) {
      this.#size -= this.#added.shift()?.size ?? 0;
      this.#isCut = true;
    }
  }

  /** The caller's speech is whole. @param isTranscribed a transcript of it will follow */
  spoken(item: unknown, isTranscribed: boolean): void {
    const seconds = Math.round(this.#heardMs / 100) / 10;
    this.#heardMs = 0;
    if (!this.isOn) return;
    const speech: Speech = { type: 'input_audio', seconds };
    this.#add({ type: 'message', role: 'user', content: [speech] });
    if (isTranscribed && this.#awaited.size < MAX_PENDING) this.#awaited.set(item, speech);
  }

  /** A transcript has come, or none will: `null`. */
  transcribed(item: unknown, transcript: unknown): void {
    const speech = this.#awaited.get(item);
    if (speech === undefined) return;
    this.#awaited.delete(item);
    if (typeof transcript === 'string') speech.transcript = transcript.slice(0, MAX_HELD);
    for (const write of this.#waiting) write();
  }

  /**
   * Null: no rule of the content log applies to the response.
   *
   * @throws {GatewayError} where its caller wants it not to be logged and may not choose
   */
  open(requestId: string, identity: Pick<Identity, 'keyId' | 'team'>): Promise<ResponseContent> | null {
    const { log, headers, model } = this.#options;
    const begun = log.begin({ identity, model, headers, requestId });
    if (begun === null) this.#take();
    return begun === null ? null : begun.then((logged) => this.#contentOf(logged));
  }

  #take(): Taken {
    const input = this.#added.map(({ item }) => item);
    const isCut = this.#isCut;
    const awaited = new Set(this.#awaited.keys());
    this.#added = [];
    this.#size = 0;
    this.#isCut = false;
    return { input, isCut, awaited };
  }

  #contentOf(logged: LoggedContent): ResponseContent {
    const { model, channel, headers, settleMs } = this.#options;
    let asked: JsonObject = {};
    let taken: Taken = { input: [], isCut: false, awaited: new Set() };
    const write = ({ id, requestId, identity: { keyId, team }, answer, error }: EndedResponse) =>
      logged.end({
        facts: {
          ...{ id, requestId, keyId, team, endpoint: 'realtime', model, channel },
          ...callerNamesIn(headers),
          ...(error && { error: { code: error.code, message: error.message } }),
          ...(error && answer !== null && { isPartial: true }),
        },
        request: { value: asked },
        answer: answer === null ? null : { value: answer },
        overlong: taken.isCut ? ['request'] : [],
      });
    return {
      get note() {
        return logged.note;
      },
      begin: (response) => {
        taken = this.#take();
        const { input, instructions, ...others } = response;
        const own = Array.isArray(input) ? input.map(withoutMedia) : [];
        asked = {
          model,
          instructions: instructions ?? this.#instructions,
          input: [...taken.input, ...own],
          ...others,
        };
      },
      end: (ended) => {
        const isAwaited = () => [...taken.awaited].some((item) => this.#awaited.has(item));
        if (!isAwaited() || this.#waiting.size >= MAX_PENDING) return write(ended);
        const finish = () => {
          clearTimeout(timer);
          if (this.#waiting.delete(finishIfWhole)) write(ended);
        };
        const finishIfWhole = () => {
          if (!isAwaited()) finish();
        };
        const timer = setTimeout(finish, settleMs);
        this.#waiting.add(finishIfWhole);
      },
      cancel: () => logged.cancel(),
    };
  }

  /** The session is over: no transcript is waited for any more. */
  close(): void {
    this.#awaited.clear();
    for (const write of this.#waiting) write();
  }
}

/** What came of a response that its provider did not end. */
export const brokenOff = (said: string): JsonObject | null =>
  said === ''
    ? null
    : {
        object: 'realtime.response',
        status: 'incomplete',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said }] }],
      };

/** Of an item as JSON; null: it is nested more deeply than can be written. */
function sizeOf(item: unknown): number | null {
  try {
    return JSON.stringify(item)?.length ?? 0;
  } catch {
    return null;
  }
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,100},/;
/** A base64 character is six bits. */
const BASE64_SHARE = 3 / 4;

/** An item of a conversation as it is held: of its sound and its images only what they are and their sizes. */
function withoutMedia(item: unknown): unknown {
  if (!isObject(item) || !Array.isArray(item.content)) return item;
  const shown = (name: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    const [, type] = DATA_URL.exec(value) ?? (name === 'audio' ? ['', 'audio'] : []);
    return type === undefined ? value : `[${type}, ${Math.floor(value.length * BASE64_SHARE)} bytes]`;
  };
  const content = item.content.map((part) =>
    isObject(part)
      ? Object.fromEntries(Object.entries(part).map(([name, value]) => [name, shown(name, value)]))
      : part,
  );
  return { ...item, content };
}
