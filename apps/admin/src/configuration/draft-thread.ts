import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { describeChanges, shownEntries } from '@gateway/upstream/configuration/draft/describe-changes';
import { lineDiff } from '@gateway/upstream/configuration/draft/line-diff';
import { shownText } from '@gateway/upstream/configuration/draft/shown-text';
import { shownCheck } from './check-text.ts';
import { checkedText } from './checked-text.ts';
import type { DraftedConfiguration } from './draft.ts';
import { editedDraft, shownBase } from './drafted-text.ts';

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
  const text = editedDraft(task.text ?? base, task.edits);
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
