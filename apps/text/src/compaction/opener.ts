import { GatewayError } from '@gateway/contracts/gateway-error';
import { COMPACTION_TRIGGER, isCompactionItem } from '@gateway/contracts/openai/responses';
import { unreadableCompaction } from '../call/history/not-found.ts';
import { isCompactEdit } from '../call/request/requested-compaction.ts';
import { bufferOf } from '../large/shared-bytes.ts';
import type { Dropped } from '../neutral/losses.ts';
import { isObject, type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import {
  type CompactedWindow,
  type CompactionSeals,
  compactionDigest,
} from '../wire/tokens/compaction-seal.ts';
import { isInstructionOrUsers } from './kept-window.ts';
import { shownItems, shownMessages, summaryMessage } from './shown-window.ts';

/** What it takes to open the compactions of a request for a candidate, beside its body. */
export interface Opening {
  readonly protocol: TextProtocol;
  /** The request as its caller sent it. */
  readonly sent: Uint8Array;
  /** Whose compactions open. */
  readonly owners: readonly string[];
  /** The first so many items are stored ones, and not sent again. */
  readonly keptCount: number;
  /** The candidate's provider compacts itself. */
  readonly isNative: boolean;
  /** The candidate is of another protocol. */
  readonly isTranslated: boolean;
  /** Somebody has looked whether the conversation has to be compacted. */
  readonly wasLookedAt: boolean;
  /** The digests of compactions that are known to be from elsewhere. */
  readonly unreadable: ReadonlySet<string>;
}

/** Opens the compactions of one body. */
export class Opener {
  hasChanged = false;
  dropped: readonly Dropped[] = [];
  readonly #opening: Opening;
  readonly #seals: CompactionSeals;

  constructor(opening: Opening, seals: CompactionSeals) {
    this.#opening = opening;
    this.#seals = seals;
  }

  /** @param parsed by `parseBody` */
  open(parsed: unknown): JsonObject {
    const body = isJsonObject(parsed) ? parsed : {};
    return this.#opening.protocol === 'messages' ? this.messages(body) : this.items(body);
  }

  /** The body of a Responses request. */
  items(whole: JsonObject): JsonObject {
    const body = this.#managed(whole, () => undefined);
    if (!Array.isArray(body.input)) return body;
    const windows = body.input.map((item: unknown) => this.#windowOf(item));
    // What precedes it is within it, but for messages that the caller sends again.
    const start = windows.findLastIndex((window) => window?.userMessages === 'within');
    const { keptCount } = this.#opening;
    const isSentAgain = (item: unknown, index: number) => index >= keptCount && isInstructionOrUsers(item);
    const isBeside = body.input.slice(0, Math.max(start, 0)).some(isSentAgain);
    const input = body.input.flatMap((item: unknown, index): readonly unknown[] => {
      const window = windows[index] ?? null;
      if (index < start) return window === null && isSentAgain(item, index) ? [item] : [];
      if (window !== null) {
        const shown = of('responses', window);
        return shownItems(isBeside && index === start ? withoutMessages(shown) : shown);
      }
      const isObeyed = this.#opening.isNative || !isObject(item) || item.type !== COMPACTION_TRIGGER;
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
    if (this.#opening.isNative || (management ?? null) === null) return body;
    if (!this.#opening.wasLookedAt) {
      // Nobody has looked whether it applies: the translation reports it.
      if (this.#opening.isTranslated) return body;
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
    if (this.#opening.isNative && (proof === null || this.#isReadable(proof))) return 'kept';
    this.hasChanged = true;
    if (content !== null) return [summaryMessage(content), ...toolChanges(block)];
    if (sealed === null) return 'nothing';
    throw unreadableCompaction(path);
  }

  /** Null where the gateway did not seal it. */
  #open(sealed: string, path: () => Path): CompactedWindow | null {
    const window = this.#seals.open(sealed, this.#opening.owners);
    if (window === 'foreign') return null;
    if (window === 'broken') throw unreadableCompaction(path());
    this.hasChanged = true;
    return window;
  }

  /** Whether the candidate made it, as far as is known: a compaction of unknown origin is left to the provider. */
  #isReadable(sealed: string): boolean {
    return this.#opening.isNative && !this.#opening.unreadable.has(compactionDigest(sealed));
  }

  /** The path of a compaction in the caller's own request, or of the member that refers to it. */
  #pathOf(sealed: string): Path {
    const body = objectOf(parseBody(bufferOf(this.#opening.sent).toString()));
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
