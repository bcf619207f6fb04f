import type { Dropped } from '../neutral/losses.ts';
import { acceptsPayload, type Target } from '../neutral/target.ts';
import type { JsonObject } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { type OpaqueTokens, TOKEN_PREFIX, type TokenContent } from '../wire/tokens/opaque-token.ts';
import { NO_SIGNATURE, SIGNATURE_PREFIX, tokenIn } from '../wire/tokens/signature-token.ts';

interface Restoration {
  readonly body: JsonObject;
  readonly dropped: readonly Dropped[];
}

/** The end of the prefix begins with a digit, which is rarer than its letters: the search for it is eight times as fast. */
const RARE_END = TOKEN_PREFIX.slice(-2);
/** A body that is full of it is searched for the whole prefix. */
const MAX_RARE_ENDS = 100;

/** Whether a request's bytes can hold a token at all; most hold none and need no second look. */
export function mayHoldTokens(body: Buffer, protocol: TextProtocol): boolean {
  if (protocol === 'gemini') return body.includes(SIGNATURE_PREFIX, 0, 'latin1');
  let at = 0;
  for (let found = 0; found < MAX_RARE_ENDS; found += 1) {
    at = body.indexOf(RARE_END, at, 'latin1') + RARE_END.length;
    if (at < RARE_END.length) return false;
    if (body.toString('latin1', Math.max(0, at - TOKEN_PREFIX.length), at) === TOKEN_PREFIX) return true;
  }
  return body.includes(TOKEN_PREFIX, at - TOKEN_PREFIX.length, 'latin1');
}

/**
 * A request that stays within its protocol, with the gateway's own tokens taken out: what this upstream made becomes
 * what it was, blocks of another vendor are left out, and reasoning of which the upstream would have to know the id (`unknownThoughts`).
 * Everything else stays as it is, but reasoning that the target is to get none of. Such tokens come from turns that
 * another protocol's model answered.
 */
export function restoreTokens(
  body: JsonObject,
  protocol: TextProtocol,
  target: Target,
  tokens: OpaqueTokens,
  unknownThoughts: ReadonlySet<string> = new Set(),
): Restoration {
  const dropped: Dropped[] = [];
  const restorer = new Restorer({ target, tokens, dropped, unknownThoughts });
  const given = body[LIST_MEMBER[protocol]];
  const list = protocol === 'gemini' ? entriesOf(given) : given;
  if (!Array.isArray(list)) return { body, dropped };
  const member = LIST_MEMBER[protocol];
  const restore = {
    responses: (item: unknown, at: Path) => restorer.item(item, at),
    messages: (message: unknown, at: Path) => restorer.message(message, at),
    chat: (message: unknown, at: Path) => restorer.chatMessage(message, at),
    gemini: (content: unknown, at: Path) => restorer.content(content, at),
  }[protocol];
  return {
    body: { ...body, [member]: list.flatMap((entry, index) => restore(entry, [member, index])) },
    dropped,
  };
}

/** Google takes an entry by itself for a list of one. */
const entriesOf = (given: unknown): unknown => (isJsonObject(given) ? [given] : given);

const LIST_MEMBER: Record<TextProtocol, string> = {
  responses: 'input',
  messages: 'messages',
  chat: 'messages',
  gemini: 'contents',
};

const REASON = "reasoning that is not this upstream's own";

interface RestorerOptions {
  readonly target: Target;
  readonly tokens: OpaqueTokens;
  readonly dropped: Dropped[];
  readonly unknownThoughts: ReadonlySet<string>;
}

class Restorer {
  readonly #target: Target;
  readonly #tokens: OpaqueTokens;
  readonly #dropped: Dropped[];
  readonly #unknownThoughts: ReadonlySet<string>;

  constructor({ target, tokens, dropped, unknownThoughts }: RestorerOptions) {
    this.#target = target;
    this.#tokens = tokens;
    this.#dropped = dropped;
    this.#unknownThoughts = unknownThoughts;
  }

  item(item: unknown, at: Path): unknown[] {
    if (!isJsonObject(item) || item.type !== 'reasoning') return [item];
    const isUnknown = typeof item.id === 'string' && this.#unknownThoughts.has(item.id);
    if (this.#target.withholdReasoning || isUnknown) return this.#drop(at, REASON);
    const content = this.#open(item.encrypted_content);
    if (content === 'untouched') return [item];
    if (content?.kind === 'encrypted') return [{ ...item, encrypted_content: content.data }];
    return this.#drop(at, REASON);
  }

  message(message: unknown, at: Path): unknown[] {
    if (!isJsonObject(message) || !Array.isArray(message.content)) return [message];
    const foreignSearches = new Set(message.content.flatMap((block) => this.#foreignSearchId(block)));
    const content = message.content.flatMap((block, index) =>
      this.#block(block, [...at, 'content', index], foreignSearches),
    );
    return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }];
  }

  chatMessage(message: unknown, at: Path): unknown[] {
    if (!isJsonObject(message)) return [message];
    if (this.#target.withholdReasoning) return [this.#withoutThoughts(message, at)];
    if (!Array.isArray(message.reasoning_details)) return [message];
    const details = message.reasoning_details.flatMap((detail, index) => {
      const content = isJsonObject(detail) ? this.#open(detail.data ?? detail.signature) : 'untouched';
      return content === 'untouched' ? [detail] : this.#drop([...at, 'reasoning_details', index], REASON);
    });
    const { reasoning_details: _, ...rest } = message;
    return [details.length === 0 ? rest : { ...rest, reasoning_details: details }];
  }

  /**
   * A content of Gemini's: signatures that are tokens were made elsewhere, and go with the thoughts that they are of, which are not
   * signed themselves. A call is marked as one without a signature, which Gemini demands.
   */
  content(content: unknown, at: Path): unknown[] {
    if (!isJsonObject(content)) return [content];
    const given = entriesOf(content.parts);
    if (!Array.isArray(given) || !given.some((part) => this.#isForeign(part))) return [content];
    const parts = given.flatMap((part: unknown, index): unknown[] => {
      const isSigned = this.#isForeign(part);
      if (!isJsonObject(part) || !(isSigned || part.thought === true)) return [part];
      const { thoughtSignature: _, thought_signature: __, ...bare } = part;
      if (part.thought === true) return this.#drop([...at, 'parts', index], REASON);
      this.#drop([...at, 'parts', index, 'thoughtSignature'], REASON);
      const isCall = isJsonObject(part.functionCall ?? part.function_call);
      return [isCall ? { ...bare, thoughtSignature: NO_SIGNATURE } : bare];
    });
    return parts.length === 0 ? [] : [{ ...content, parts }];
  }

  /** Whether a part of Gemini's is signed, in either spelling, by what this upstream is not to see. */
  #isForeign(part: unknown): boolean {
    if (!isJsonObject(part)) return false;
    return [part.thoughtSignature, part.thought_signature].some(
      (signature) =>
        typeof signature === 'string' && (this.#target.withholdReasoning || tokenIn(signature) !== null),
    );
  }

  /** A chat message without what seals its reasoning: details, and the signatures beside Google's calls. */
  #withoutThoughts(message: JsonObject, at: Path): JsonObject {
    const { reasoning_details: details, extra_content: extra, tool_calls: calls, ...rest } = message;
    if ((details ?? null) !== null) this.#drop([...at, 'reasoning_details'], REASON);
    if ((extra ?? null) !== null) this.#drop([...at, 'extra_content'], REASON);
    if (!Array.isArray(calls)) return rest;
    const bare = calls.map((call, index) => {
      if (!isJsonObject(call) || (call.extra_content ?? null) === null) return call;
      this.#drop([...at, 'tool_calls', index, 'extra_content'], REASON);
      const { extra_content: _, ...left } = call;
      return left;
    });
    return { ...rest, tool_calls: bare };
  }

  #block(block: unknown, at: Path, foreignSearches: ReadonlySet<unknown>): unknown[] {
    if (!isJsonObject(block)) return [block];
    switch (block.type) {
      case 'thinking':
      case 'redacted_thinking':
        return this.#thinking(block, at);
      case 'server_tool_use':
        return foreignSearches.has(block.id) ? this.#drop(at, "another provider's search") : [block];
      case 'web_search_tool_result':
        return foreignSearches.has(block.tool_use_id) ? this.#drop(at, "another provider's search") : [block];
      case 'text':
        return [this.#citedText(block)];
      default:
        return [block];
    }
  }

  #thinking(block: JsonObject, at: Path): unknown[] {
    if (this.#target.withholdReasoning) return this.#drop(at, REASON);
    const content = this.#open(block.signature ?? block.data);
    if (content === 'untouched') return [block];
    if (content?.kind === 'redacted') return [{ type: 'redacted_thinking', data: content.data }];
    if (content?.kind !== 'signature') return this.#drop(at, REASON);
    const thinking = content.texts?.join('\n\n') ?? block.thinking ?? '';
    return [{ type: 'thinking', thinking, signature: content.data }];
  }

  /** In history a text counts, not where another vendor found it. */
  #citedText(block: JsonObject): unknown {
    const { citations, ...text } = block;
    if (!Array.isArray(citations)) return block;
    const own = citations.filter(
      (citation) => !(isJsonObject(citation) && isToken(citation.encrypted_index)),
    );
    if (own.length === citations.length) return block;
    return own.length === 0 ? text : { ...text, citations: own };
  }

  #foreignSearchId(block: unknown): unknown[] {
    if (!isJsonObject(block) || block.type !== 'web_search_tool_result') return [];
    const results = Array.isArray(block.content) ? block.content : [];
    const isForeign = results.some((result) => isJsonObject(result) && isToken(result.encrypted_content));
    return isForeign ? [block.tool_use_id] : [];
  }

  /** What a token holds, where it is one and may go to this upstream; null where it must be dropped. */
  #open(seal: unknown): TokenContent | 'untouched' | null {
    if (typeof seal !== 'string') return 'untouched';
    const content = this.#tokens.open(seal);
    if (content === 'foreign') return 'untouched';
    return content !== 'broken' && acceptsPayload(this.#target, content) ? content : null;
  }

  #drop(path: Path, reason: string): [] {
    this.#dropped.push({ path, reason });
    return [];
  }
}

const isToken = (value: unknown): boolean => typeof value === 'string' && value.startsWith(TOKEN_PREFIX);
