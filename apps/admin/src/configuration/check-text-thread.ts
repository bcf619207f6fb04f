import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { shownCheck } from './check-text.ts';
import { checkedText } from './checked-text.ts';

export interface CheckTask {
  readonly text: string;
  /** The file that mistakes name. */
  readonly path: string;
}

serveTasks(async ({ text, path }: CheckTask) => ({ result: shownCheck(await checkedText(text, path)) }));
