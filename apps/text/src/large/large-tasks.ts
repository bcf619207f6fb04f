import type { Surroundings } from '@gateway/hooks/check';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { FoundText } from '../call/hooks/text-slots.ts';
import { idsIn } from '../passthrough/sent-ids.ts';
import { type AdditionsTask, additionsTask, type ReadAdditions } from './additions-task.ts';
import { backgroundTask, type WrittenBackground } from './background-task.ts';
import { type CollectTask, collectTask } from './collect-task.ts';
import {
  type BesideTask,
  besideTask,
  type SealTask,
  type SummaryTask,
  sealTask,
  summaryTask,
  type WrittenSummary,
  type WrittenWindow,
} from './compaction-tasks.ts';
import { type CountTask, countTask } from './count-task.ts';
import { type Described, type DescribeTask, describeTask } from './describe-task.ts';
import { type AmendEventTask, amendEventTask, type EndTask, endTask, type ReadEnd } from './end-task.ts';
import { type EventTask, eventTask, type ReadEvent } from './event-task.ts';
import { type InputTask, inputTask } from './input-task.ts';
import { type DigestTask, digestTask, type ItemColumns } from './item-columns.ts';
import { type OpenedBody, type OpenTask, openTask } from './open-task.ts';
import { type OwnTask, ownTask, type RewrittenBody } from './own-task.ts';
import { type AmendTask, amendTask, type ReplyResult, type ReplyTask, replyTask } from './reply-task.ts';
import { bufferOf } from './shared-bytes.ts';
import { itemTask, type ListTask, listTask, type StoredTask, storedTask } from './show-tasks.ts';
import {
  surroundingsTask,
  type TextsTask,
  textsTask,
  type WithTextsTask,
  withTextsTask,
} from './text-tasks.ts';
import {
  type ContinueTask,
  continueTask,
  echoTask,
  type TranslateTask,
  translateTask,
  type WrittenTranslation,
} from './translate-task.ts';
import {
  type MessagesTask,
  messagesTask,
  type ReadTurn,
  type ThreadTask,
  type TurnTask,
  threadTask,
  turnTask,
} from './turn-tasks.ts';
import { type WholeConversation, type WholeTask, wholeTask } from './whole-task.ts';

/** What the thread does with large bodies. Everything in a task and in a result survives a structured clone. */
export interface LargeTasks {
  describe: { task: DescribeTask; result: Described };
  count: { task: CountTask; result: number };
  event: { task: EventTask; result: ReadEvent };
  translate: { task: TranslateTask; result: WrittenTranslation };
  continue: { task: ContinueTask; result: Uint8Array };
  echo: { task: { readonly bytes: Uint8Array }; result: string };
  open: { task: OpenTask; result: OpenedBody };
  background: { task: { readonly bytes: Uint8Array }; result: WrittenBackground };
  summary: { task: SummaryTask; result: WrittenSummary };
  seal: { task: SealTask; result: WrittenWindow };
  beside: { task: BesideTask; result: Uint8Array };
  own: { task: OwnTask; result: RewrittenBody };
  whole: { task: WholeTask; result: WholeConversation };
  digest: { task: DigestTask; result: string };
  input: { task: InputTask; result: ItemColumns };
  turn: { task: TurnTask; result: ReadTurn };
  thread: { task: ThreadTask; result: Uint8Array };
  messages: { task: MessagesTask; result: ItemColumns };
  additions: { task: AdditionsTask; result: ReadAdditions };
  list: { task: ListTask; result: Uint8Array };
  item: { task: Pick<ListTask, 'items'>; result: Uint8Array };
  stored: { task: StoredTask; result: Uint8Array };
  reply: { task: ReplyTask; result: ReplyResult };
  amend: { task: AmendTask; result: Uint8Array | null };
  collect: { task: CollectTask; result: Uint8Array | null };
  ids: { task: { readonly bytes: Uint8Array }; result: ReadonlySet<string> };
  end: { task: EndTask; result: ReadEnd | null };
  amendEvent: { task: AmendEventTask; result: Uint8Array };
  texts: { task: TextsTask; result: readonly FoundText[] };
  surroundings: { task: Pick<TextsTask, 'bytes'>; result: Surroundings };
  withTexts: { task: WithTextsTask; result: Uint8Array };
}
type Name = keyof LargeTasks;

export interface LargeTask<One extends Name = Name> {
  readonly name: One;
  readonly task: LargeTasks[One]['task'];
}

type Work<One extends Name> = (
  task: LargeTasks[One]['task'],
) => LargeTasks[One]['result'] | Promise<LargeTasks[One]['result']>;
const TASKS: { readonly [One in Name]: Work<One> } = {
  describe: describeTask,
  count: countTask,
  event: eventTask,
  translate: translateTask,
  continue: continueTask,
  echo: echoTask,
  open: openTask,
  background: backgroundTask,
  summary: summaryTask,
  seal: sealTask,
  beside: besideTask,
  own: ownTask,
  whole: wholeTask,
  digest: digestTask,
  input: inputTask,
  turn: turnTask,
  thread: threadTask,
  messages: messagesTask,
  additions: additionsTask,
  list: listTask,
  item: itemTask,
  stored: storedTask,
  reply: replyTask,
  amend: amendTask,
  collect: collectTask,
  ids: ({ bytes }) => idsIn(bufferOf(bytes).toString()),
  end: endTask,
  amendEvent: amendEventTask,
  texts: textsTask,
  surroundings: surroundingsTask,
  withTexts: withTextsTask,
};

const perform = async <One extends Name>({ name, task }: LargeTask<One>) => ({
  result: await TASKS[name](task),
});

serveTasks<LargeTask, unknown>(perform);
