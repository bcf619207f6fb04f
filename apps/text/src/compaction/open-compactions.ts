import { GatewayError } from '@gateway/contracts/gateway-error';
import { COMPACTION_TRIGGER, isCompactionItem } from '@gateway/contracts/openai/responses';
import type { Candidate } from '@gateway/upstream/candidate';
import { ownersOf } from '../call/history/conversation-space.ts';
import { unreadableCompaction } from '../call/history/not-found.ts';
import { isCompactEdit } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import type { Dropped } from '../neutral/losses.ts';
import { isMadeAt } from '../stored/origins/maker.ts';
import { isObject, type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { type CompactedWindow, compactionDigest } from '../wire/tokens/compaction-seal.ts';
import { isInstructionOrUsers } from './kept-window.ts';
import { shownItems, shownMessages, summaryMessage } from './shown-window.ts';

/** Whether a candidate's provider compacts conversations of this call itself, and reads what it has compacted. */
export const compactsItself = (
  { endpoint }: Pick<TextCall, 'endpoint'>,
  { protocol, route, channel }: Candidate,
): boolean =>
  protocol === endpoint.protocol &&
  route.quirks.compaction &&
  (endpoint.operation !== 'responses.compact' || channel.paths['responses.compact'] !== undefined);

/**
 * A call as a candidate can be sent it: what the gateway sealed is opened, a provider's own goes to that provider alone.
 * Orders to compact stay only for who obeys them. The call comes back as it is where it has nothing of the kind.
 *
 * @throws {GatewayError} `invalid_compaction` for what neither the gateway nor the candidate can read;
 * `compaction_content_mismatch`
 */
export function openCompactions(call: TextCall, candidate: Candidate): TextCall {
  const { compaction, content, rewritten } = call.request;
  if (compaction === null) return call;
  const opener = new Opener(call, candidate);
  const opened = () => {
    const parsed = content.take();
    const body = isJsonObject(parsed) ? parsed : {};
    return call.endpoint.protocol === 'messages' ? opener.messages(body) : opener.items(body);
  };
  let first: JsonObject | null = opened();
  if (!opener.hasChanged) return call;
  const take = () => {
    const body = first ?? opened();
    first = null;
    return body;
  };
  const dropped = [...(rewritten?.dropped ?? []), ...opener.dropped];
  return {
    ...call,
    request: { ...call.request, content: { take, release: () => {} }, rewritten: { dropped } },
  };
}

class Opener {
  hasChanged = false;
  dropped: readonly Dropped[] = [];
  readonly #call: TextCall;
  readonly #candidate: Candidate;
  readonly #isNative: boolean;
  readonly #owners: readonly string[];

  constructor(call: TextCall, candidate: Candidate) {
    const { identity, services } = call;
    this.#call = call;
    this.#candidate = candidate;
    this.#isNative = compactsItself(call, candidate);
    this.#owners = ownersOf(identity, services.upstream.configuration.conversations);
  }

  /** The body of a Responses request. */
  items(whole: JsonObject): JsonObject {
    const body = this.#managed(whole, () => undefined);
    if (!Array.isArray(body.input)) return body;
    const windows = body.input.map((item: unknown) => this.#windowOf(item));
    // What precedes it is within it, but for messages that the caller sends again.
    const start = windows.findLastIndex((window) => window?.userMessages === 'within');
    const keptCount = this.#call.request.rewritten?.keptItems ?? 0;
    const isSentAgain = (item: unknown, index: number) => index >= keptCount && isInstructionOrUsers(item);
    const isBeside = body.input.slice(0, Math.max(start, 0)).some(isSentAgain);
    const input = body.input.flatMap((item: unknown, index): readonly unknown[] => {
      const window = windows[index] ?? null;
      if (index < start) return window === null && isSentAgain(item, index) ? [item] : [];
      if (window !== null) {
        const shown = of('responses', window);
        return shownItems(isBeside && index === start ? withoutMessages(shown) : shown);
      }
      const isObeyed = this.#isNative || !isObject(item) || item.type !== COMPACTION_TRIGGER;
      this.hasChanged ||= !isObeyed;
      return isObeyed ? [item] : [];
    });
    return { ...body, input };
  }

  /** The body of a Messages request. A compaction replaces everything before it. */
  messages(whole: JsonObject): JsonObject {
    const body = this.#managed(whole, withoutCompactEdits);
    if (!Array.isArray(body.messages)) return body;
    const shown: unknown[] = [];
    for (const [index, message] of body.messages.entries()) {
      if (!isObject(message) || !Array.isArray(message.content)) {
        shown.push(message);
        continue;
      }
      let content: unknown[] = [];
      for (const [at, block] of message.content.entries()) {
        const isCompaction = isObject(block) && block.type === 'compaction';
        const opened = isCompaction ? this.#block(block, ['messages', index, 'content', at]) : 'kept';
        if (opened === 'kept') content.push(block);
        else if (opened !== 'nothing') {
          shown.length = 0;
          for (const one of opened) shown.push(one);
          content = [];
        }
      }
      if (content.length > 0 || message.content.length === 0) shown.push({ ...message, content });
    }
    return { ...body, messages: shown };
  }

  /** `without` leaves out of `context_management` what the gateway has carried out; undefined: nothing is left of it. */
  #managed(body: JsonObject, without: (management: unknown) => unknown): JsonObject {
    const { context_management: management, ...rest } = body;
    if (this.#isNative || (management ?? null) === null) return body;
    const { compacted, endpoint } = this.#call;
    if (compacted === undefined) {
      // Nobody has looked whether it applies: the translation reports it.
      if (this.#candidate.protocol !== endpoint.protocol) return body;
      this.dropped = [{ path: ['context_management'], reason: 'this upstream compacts nothing' }];
    }
    this.hasChanged = true;
    const left = without(management);
    return left === undefined ? rest : { ...rest, context_management: left };
  }

  /** Null for an item that is passed as it is. */
  #windowOf(item: unknown): CompactedWindow | null {
    if (!isObject(item) || !isCompactionItem(item)) return null;
    const sealed = textAt(item, 'encrypted_content') ?? '';
    const window = this.#open(sealed, () => this.#pathOf(sealed));
    if (window === null && !this.#isReadable(sealed)) throw unreadableCompaction(this.#pathOf(sealed));
    return window;
  }

  /** The messages that a block replaces. `kept`: its provider reads it. `nothing`: a compaction that failed. */
  #block(block: JsonObject, path: Path): 'kept' | 'nothing' | readonly unknown[] {
    const content = textAt(block, 'content');
    const sealed = textAt(block, 'encrypted_content');
    const window = sealed === null ? null : this.#open(sealed, () => path);
    if (window !== null) {
      if (content !== window.summary) throw contentMismatch(path);
      return [...shownMessages(of('messages', window)), ...toolChanges(block)];
    }
    const proof = sealed ?? textAt(block, 'signature');
    if (this.#isNative && (proof === null || this.#isReadable(proof))) return 'kept';
    this.hasChanged = true;
    if (content !== null) return [summaryMessage(content), ...toolChanges(block)];
    if (sealed === null) return 'nothing';
    throw unreadableCompaction(path);
  }

  /** Null where the gateway did not seal it. */
  #open(sealed: string, path: () => Path): CompactedWindow | null {
    const window = this.#call.services.compactions.open(sealed, this.#owners);
    if (window === 'foreign') return null;
    if (window === 'broken') throw unreadableCompaction(path());
    this.hasChanged = true;
    return window;
  }

  /** Whether the candidate made it, as far as is known: a compaction of unknown origin is left to the provider. */
  #isReadable(sealed: string): boolean {
    const { request, history } = this.#call;
    const digest = compactionDigest(sealed);
    const index = request.ids.findIndex(({ kind, id }) => kind === 'compaction' && id === digest);
    const origin = history.origins[index];
    const isElsewhere = typeof origin === 'object' && !isMadeAt(origin, this.#candidate);
    return this.#isNative && origin !== 'foreign' && !isElsewhere;
  }

  /** The path of a compaction in the caller's own request, or of the member that refers to it. */
  #pathOf(sealed: string): Path {
    const body = objectOf(parseBody(this.#call.request.bytes.toString()));
    const input = Array.isArray(body.input) ? body.input : [];
    const index = input.findIndex((item) => objectOf(item).encrypted_content === sealed);
    if (index >= 0) return ['input', index, 'encrypted_content'];
    return [(body.conversation ?? null) === null ? 'previous_response_id' : 'conversation'];
  }
}

/** What a window keeps beside messages: the last calls of tools. */
const withoutMessages = (window: CompactedWindow): CompactedWindow => ({
  ...window,
  before: window.before.filter((item) => !isInstructionOrUsers(item)),
  after: window.after.filter((item) => !isInstructionOrUsers(item)),
});

const withoutCompactEdits = (management: unknown): unknown => {
  const { edits, ...rest } = objectOf(management);
  const left = (Array.isArray(edits) ? edits : []).filter((edit) => !isCompactEdit(edit));
  return left.length === 0 ? undefined : { ...rest, edits: left };
};

/** Of a window of another protocol only the summary can be shown. */
const of = (protocol: CompactedWindow['protocol'], window: CompactedWindow): CompactedWindow =>
  window.protocol === protocol ? window : { ...window, before: [], after: [] };

/** The tools that a compacted conversation has added and removed stay so. */
const toolChanges = ({ tool_changes: changes }: JsonObject): readonly unknown[] =>
  Array.isArray(changes) && changes.length > 0 ? [{ role: 'system', content: changes }] : [];

const contentMismatch = (path: Path): GatewayError =>
  new GatewayError('compaction_content_mismatch', {
    path: [...path, 'content'],
    message: 'The summary of this compaction was changed. Send the block back as it came.',
  });
