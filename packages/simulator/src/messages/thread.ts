import { asList, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { invalidMessages, ProviderError } from '../replies/provider-error.ts';
import type { Call } from '../requests/call.ts';
import type { KeptTurn } from './thread-store.ts';

const BETA = 'message-threads-2026-08-12';
/** Members that are the same on every turn of a thread; the last two are the thread's if a turn leaves them out. */
const FIXED = ['model', 'thinking', 'tool_choice', 'output_config', 'cache_control', 'system', 'tools'];
const INHERITED = ['system', 'tools'];

/** One request of a thread. */
export interface ThreadTurn {
  /** The request with the whole conversation in it. */
  readonly body: JsonObject;
  /** Keeps the conversation under the reply's id. */
  keep(messageId: string, content: readonly JsonObject[]): void;
  /** The reply did not end: the turn before may be continued again. */
  release(): void;
}

const refusal = (status: number, error_code: string, message: string) =>
  new ProviderError({ status, message, details: { error_code } });

const kept = (call: Call, id: string): KeptTurn => {
  const turn = call.provider.threads.find(id);
  if (!turn) throw refusal(404, 'thread_not_found', `thread: no thread was found for message '${id}'`);
  if (turn.isContinued) {
    throw refusal(400, 'thread_already_continued', `thread: message '${id}' has already been continued`);
  }
  return turn;
};

const checkFixed = (body: JsonObject, fixed: JsonObject): void => {
  const differing = FIXED.filter((name) => {
    if (INHERITED.includes(name) && !isGiven(body[name])) return false;
    return JSON.stringify(body[name] ?? null) !== JSON.stringify(fixed[name] ?? null);
  });
  if (differing.length === 0) return;
  const message = `thread: the request does not match the thread; differing field(s): ${differing.join(', ')}`;
  throw refusal(400, 'thread_fingerprint_mismatch', message);
};

/**
 * Reads a request as a turn of a thread; null if it is not one.
 * @throws ProviderError with the thread's own error codes
 */
export const readThread = (call: Call, body: JsonObject): ThreadTurn | null => {
  const { thread, ...own } = body;
  if (!isGiven(thread)) return null;
  const betas = String(call.request.headers['anthropic-beta'] ?? '').split(/\s*,\s*/);
  if (!betas.includes(BETA)) throw invalidMessages('thread: Extra inputs are not permitted');
  const { type, previous_message_id: previous } = asObject(thread);
  const earlier = type === 'continue' ? kept(call, asText(previous)) : null;
  if (earlier) checkFixed(own, earlier.fixed);
  const messages = [...(earlier?.messages ?? []), ...asList(own.messages)];
  const whole = { ...own, ...earlier?.fixed, messages };
  return {
    body: whole,
    keep: (messageId, content) => {
      if (earlier) earlier.isContinued = true;
      const fixed = Object.fromEntries(Object.entries(whole).filter(([name]) => FIXED.includes(name)));
      const reply = { role: 'assistant', content };
      call.provider.threads.keep(messageId, { messages: [...messages, reply], fixed, isContinued: false });
    },
    release: () => {
      if (earlier) earlier.isContinued = false;
    },
  };
};
