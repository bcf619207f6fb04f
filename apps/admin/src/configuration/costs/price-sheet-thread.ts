import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { checkedText } from '../checked-text.ts';
import { editedDraft, shownBase } from '../drafted-text.ts';
import { type PriceSheet, priceSheets, type Requested } from './price-sheet.ts';

export interface PriceSheetTask {
  /** The configuration in use, as it is. */
  readonly base: string;
  readonly text: string | undefined;
  readonly edits: readonly ConfigurationEdit[];
  /** What mistakes name. */
  readonly path: string;
  readonly requested: readonly Requested[];
}

/** Of the configuration in use, and of the draft. Null: the draft has mistakes. */
export interface BothSheets {
  readonly before: readonly PriceSheet[];
  readonly after: readonly PriceSheet[];
}

serveTasks(async (task: PriceSheetTask): Promise<{ result: BothSheets | null }> => {
  const { path, requested } = task;
  const base = await shownBase(task);
  const text = editedDraft(task.text ?? base, task.edits);
  const [inUse, draft] = [await checkedText(base, path), await checkedText(text, path)];
  if (inUse.configuration === null || draft.configuration === null) return { result: null };
  return {
    result: {
      before: priceSheets(inUse.configuration, requested),
      after: priceSheets(draft.configuration, requested),
    },
  };
});
