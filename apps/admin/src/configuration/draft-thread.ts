import { GatewayError } from '@gateway/contracts/gateway-error';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { describeChanges, shownEntries } from '@gateway/upstream/configuration/draft/describe-changes';
import { editText, ImpossibleEdit } from '@gateway/upstream/configuration/draft/edit-text';
import { lineDiff } from '@gateway/upstream/configuration/draft/line-diff';
import { shownText } from '@gateway/upstream/configuration/draft/shown-text';
import { shownCheck } from './check-text.ts';
import { checkedText } from './checked-text.ts';
import type { DraftedConfiguration } from './draft.ts';

export interface DraftTask {
  /** The configuration in use, as it is. */
  readonly base: string;
  readonly number: number | null;
  readonly text: string | undefined;
  readonly edits: readonly ConfigurationEdit[];
  /** What mistakes name, and the diff. */
  readonly path: string;
  readonly file: string;
}

serveTasks(async (task: DraftTask): Promise<{ result: DraftedConfiguration }> => {
  const { path, file } = task;
  const base = await shownBase(task);
  const text = edited(task.text ?? base, task.edits);
  const found = await checkedText(text, path);
  const entries = shownEntries(text);
  if (entries === null)
    return {
      result: { base: task.number, text, ...shownCheck(found), changes: [], diff: null, entries: null },
    };
  // A text with mistakes may have a secret where none is looked for: then only its author's own lines are compared.
  const shown = found.configuration === null ? text : shownText(text);
  return {
    result: {
      base: task.number,
      text,
      ...shownCheck(found),
      changes: [...describeChanges(base, text)],
      diff: lineDiff(file, base, shown),
      entries,
    },
  };
});

/** @throws {GatewayError} where the configuration in use has mistakes: then it is not known what of it is secret */
async function shownBase({ base, path }: DraftTask): Promise<string> {
  const { mistakes } = await checkedText(base, path);
  const [first] = mistakes;
  if (first === undefined) return shownText(base);
  throw new GatewayError(
    'service_unavailable',
    `The configuration has mistakes${first.line === null ? '' : `, the first in line ${first.line}`}. Correct it before you edit it here.`,
  );
}

function edited(text: string, edits: readonly ConfigurationEdit[]): string {
  try {
    return editText(text, edits);
  } catch (error) {
    if (!(error instanceof ImpossibleEdit)) throw error;
    throw new GatewayError('invalid_value', { message: error.message, path: ['edits', error.at] });
  }
}
