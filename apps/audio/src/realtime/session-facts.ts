import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';

/** The most that a response can have, and what a session has that names no bound. */
const MAX_OUTPUT_TOKENS = 4096;
/** Of a model whose size is not known: OpenAI's first had as much. */
const USUAL_WINDOW = 32_000;

/** Bytes of a second of sound, before base64: 16 bits at 24 kHz, and 8 bits at 8 kHz. */
const [PCM_BYTES, TELEPHONE_BYTES] = [48_000, 8_000];
const TELEPHONE = /pcmu|pcma|ulaw|alaw/;
/** OpenAI: a token for each 100 ms of the caller's sound, and for each 50 ms of the model's. */
const [INPUT_TOKENS_PER_SECOND, OUTPUT_TOKENS_PER_SECOND] = [10, 20];
/** As few has a text in Chinese, or code. */
const LEAST_BYTES_PER_TOKEN = 2;
/** A larger item has an image or sound, which are few tokens for their size. */
const MAX_TEXT_BYTES = 16 * 1024;
const BYTES_PER_MEDIA_TOKEN = 500;

const BASE64_SHARE = 3 / 4;
/** A limit on sound is a second or more: where it is used up, no response fits. What was heard counts when a response is settled. */
export const RESERVED_AUDIO_MS = 1000;

/** What a session has come to, for the most that its next response can use. */
export interface SessionFacts {
  /** A `session` that its provider reports. */
  sessionIs(session: JsonObject, sizeBytes: number): void;
  /** Sound of the caller's, in base64. Less than none takes back what its provider did not get. */
  heard(base64Bytes: number): void;
  /** An item that the caller added, or another event that adds to the input. Returns what takes it back. */
  added(sizeBytes: number): () => void;
  /** A response that its provider has reported the usage of: the next one has it as its input. */
  responded(used: Consumption): void;
  /** The most that a response can use from now on. @param maxOutput as the request for it has it */
  largest(maxOutput: unknown): Consumption;
  /** Tokens of the model's sound, in base64. */
  spokenTokens(base64Bytes: number): number;
  /** The caller's sound since it was last taken, in milliseconds. */
  readonly heardMs: number;
  /** Takes it: it is counted with what the caller of this counts. */
  takeHeardMs(): number;
}

export function createSessionFacts(window: number | null): SessionFacts {
  let sessionTokens = 0;
  let contextTokens = 0;
  let newTokens = 0;
  let heardBytes = 0;
  let maxOutputTokens = MAX_OUTPUT_TOKENS;
  let [bytesIn, bytesOut] = [PCM_BYTES, PCM_BYTES];
  let heardMs = 0;

  return {
    sessionIs: (session, sizeBytes) => {
      sessionTokens = Math.ceil(sizeBytes / LEAST_BYTES_PER_TOKEN);
      maxOutputTokens = boundOf(session.max_output_tokens ?? session.max_response_output_tokens);
      const audio = isObject(session.audio) ? session.audio : {};
      bytesIn = bytesOf(formatIn(audio.input) ?? session.input_audio_format);
      bytesOut = bytesOf(formatIn(audio.output) ?? session.output_audio_format);
    },
    heard: (base64Bytes) => {
      const bytes = base64Bytes * BASE64_SHARE;
      heardBytes = Math.max(0, heardBytes + bytes);
      heardMs += (bytes * 1000) / bytesIn;
    },
    added: (sizeBytes) => {
      const tokens = Math.ceil(
        sizeBytes <= MAX_TEXT_BYTES
          ? sizeBytes / LEAST_BYTES_PER_TOKEN
          : MAX_TEXT_BYTES / LEAST_BYTES_PER_TOKEN + sizeBytes / BYTES_PER_MEDIA_TOKEN,
      );
      newTokens += tokens;
      return () => {
        newTokens = Math.max(0, newTokens - tokens);
      };
    },
    responded: ({ inputTokens, outputTokens }) => {
      contextTokens = inputTokens + outputTokens;
      newTokens = 0;
      heardBytes = 0;
    },
    largest: (maxOutput) => {
      const heardTokens = Math.ceil((heardBytes / bytesIn) * INPUT_TOKENS_PER_SECOND);
      const tokens = Math.max(contextTokens, sessionTokens) + newTokens + heardTokens;
      return {
        ...NOTHING_CONSUMED,
        inputTokens: Math.min(tokens, window ?? USUAL_WINDOW),
        audioMs: Math.min(Math.round(heardMs), RESERVED_AUDIO_MS),
        outputTokens: maxOutput === undefined || maxOutput === null ? maxOutputTokens : boundOf(maxOutput),
      };
    },
    spokenTokens: (base64Bytes) =>
      Math.ceil(((base64Bytes * BASE64_SHARE) / bytesOut) * OUTPUT_TOKENS_PER_SECOND),
    get heardMs() {
      return heardMs;
    },
    takeHeardMs: () => {
      const ms = Math.round(heardMs);
      heardMs -= ms;
      return Math.max(0, ms);
    },
  };
}

/** `inf`, like everything that is no bound, is the most. */
const boundOf = (value: unknown): number =>
  typeof value === 'number' && value >= 1 ? Math.min(Math.ceil(value), MAX_OUTPUT_TOKENS) : MAX_OUTPUT_TOKENS;

function formatIn(side: unknown): unknown {
  const format = isObject(side) ? side.format : undefined;
  return isObject(format) ? format.type : undefined;
}

const bytesOf = (format: unknown): number =>
  typeof format === 'string' && TELEPHONE.test(format) ? TELEPHONE_BYTES : PCM_BYTES;
