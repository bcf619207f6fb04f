import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { TextRequest } from '../call/request/text-request.ts';
import type { AnsweredTurn, ThreadTurn } from '../call/request/thread-turn.ts';
import type { RecordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import type { PutResult } from '../stored/conversations/conversation-store.ts';
import { isMadeAt, type Maker, makerAt } from '../stored/origins/maker.ts';
import type { NewTurn, ThreadRecords } from './thread-records.ts';

interface KeptTurnOptions {
  readonly records: Pick<ThreadRecords, 'put'>;
  /** Null where the turn continues nothing, or only looks. */
  readonly claim: { release(): Promise<void> } | null;
  readonly previous: string | null;
  /** The thread as it was before the turn. */
  readonly kept: NewTurn['thread'];
  /** Those that the turn adds. */
  readonly messages: readonly unknown[];
  readonly sent: TextRequest;
  readonly line: RequestContext['line'];
  /** Gets what became of the record; null: there was nothing to keep. */
  readonly count: (result: PutResult | 'failed' | null) => void;
}

export class KeptTurn implements ThreadTurn {
  readonly sent: TextRequest;
  readonly #options: KeptTurnOptions;

  constructor(options: KeptTurnOptions) {
    this.#options = options;
    this.sent = options.sent;
  }

  isKeptBy(candidate: Candidate): boolean {
    const { model, protocol, route } = candidate;
    if (protocol !== 'messages' || !route.quirks.messageThreads) return false;
    const { previous, kept } = this.#options;
    if (previous === null) return true;
    return kept.keeper !== null && kept.keeper.model === model && isMadeAt(kept.keeper, candidate);
  }

  ordered(candidates: readonly Candidate[]): readonly Candidate[] {
    if (this.#options.previous === null) return candidates;
    const keepers = candidates.filter((candidate) => this.isKeptBy(candidate));
    return [...keepers, ...candidates.filter((candidate) => !keepers.includes(candidate))];
  }

  get servedBy(): Maker | null {
    return this.#options.kept.servedBy;
  }

  async keep(message: RecordedMessage | null, { request, candidate }: AnsweredTurn): Promise<void> {
    const { records, previous, kept, messages, line, count } = this.#options;
    const servedBy = makerAt(candidate);
    const keeper = request === this.sent ? { ...servedBy, model: candidate.model } : null;
    const turn = message && { previous, messages, reply: message, thread: { ...kept, keeper, servedBy } };
    const result = turn && (await records.put(turn).catch(() => 'failed' as const));
    line.threadKept = result === 'stored';
    count(result);
  }

  async end(): Promise<void> {
    // If this fails, the claim ends by itself.
    await this.#options.claim?.release().catch(() => undefined);
  }
}
