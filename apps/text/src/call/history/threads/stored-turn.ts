import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { MaybePromise } from '../../../large/maybe-promise.ts';
import type { RecordedMessage, StoredMessage } from '../../../protocols/messages/reply/message-recorder.ts';
import { isMadeAt, makerAt } from '../../../stored/origins/maker.ts';
import type { PutResult } from '../../../stored/store/conversation-store.ts';
import type { NewItem } from '../../../stored/store/window-nodes.ts';
import type { TextRequest } from '../../request/text-request.ts';
import type { AnsweredTurn, ThreadTurn } from '../../request/thread-turn.ts';
import type { NewTurn, ThreadRecords } from './thread-records.ts';

interface StoredTurnOptions {
  readonly records: Pick<ThreadRecords, 'put'>;
  readonly previous: string | null;
  /** The thread as it was before the turn. */
  readonly stored: NewTurn['thread'];
  /** Those that the turn adds. */
  readonly messages: () => MaybePromise<readonly NewItem[]>;
  readonly sent: TextRequest;
  readonly line: RequestContext['line'];
  /** Gets what became of the record; null: there was nothing to keep. */
  readonly count: (result: PutResult | 'failed' | null) => void;
}

export class StoredTurn implements ThreadTurn {
  readonly sent: TextRequest;
  readonly #options: StoredTurnOptions;

  constructor(options: StoredTurnOptions) {
    this.#options = options;
    this.sent = options.sent;
  }

  isStoredBy(candidate: Candidate): boolean {
    const { model, protocol, route } = candidate;
    if (protocol !== 'messages' || !route.quirks.messageThreads) return false;
    const { previous, stored } = this.#options;
    if (previous === null) return true;
    return stored.keeper !== null && stored.keeper.model === model && isMadeAt(stored.keeper, candidate);
  }

  ordered(candidates: readonly Candidate[]): readonly Candidate[] {
    if (this.#options.previous === null) return candidates;
    const keepers = candidates.filter((candidate) => this.isStoredBy(candidate));
    return [...keepers, ...candidates.filter((candidate) => !keepers.includes(candidate))];
  }

  async store(
    message: RecordedMessage | StoredMessage | null,
    { request, candidate }: AnsweredTurn,
  ): Promise<void> {
    const { records, previous, stored, messages, line, count } = this.#options;
    const servedBy = makerAt(candidate);
    const keeper = request === this.sent ? { ...servedBy, model: candidate.model } : null;
    const thread = { ...stored, keeper, servedBy };
    const put = async (reply: RecordedMessage | StoredMessage) =>
      records.put({ previous, messages: await messages(), reply, thread });
    const result = message && (await put(message).catch(() => 'failed' as const));
    line.threadKept = result === 'stored';
    count(result);
  }
}
