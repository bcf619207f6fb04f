import { useDebouncedCallback } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { ConfigurationEdit, Draft } from '../../../api/types.ts';

const PAUSE_MS = 500;

const keyOf = (text: string | undefined) => ['configuration-draft', text ?? null] as const;

const ask = (body: { text?: string; edits?: ConfigurationEdit[] }) =>
  bodyOf(api.POST('/admin/v1/configuration/draft', { body }));

export interface OpenDraft {
  /** As it is written; undefined: nothing is changed yet. */
  readonly text: string | undefined;
  /** The revision that it began with: others may make another one meanwhile. Null: none, or nothing is changed yet. */
  readonly base: number | null;
  /** What the gateway says of it; of the text before, for a moment. */
  readonly result: Draft | undefined;
  readonly error: Error | null;
  readonly isEditing: boolean;
  /** Whether the result is of the draft as it is written now. */
  readonly isChecked: boolean;
  /** Replaces the text. */
  write(text: string): void;
  /** Edits it, or the text before, where that is given. Rejects where an edit leads nowhere. */
  edit(edits: ConfigurationEdit[], before?: { readonly text: string | undefined }): Promise<Draft>;
  discard(): void;
  retry(): void;
}

/** A draft of the configuration. It stays in this page, and nothing is applied. */
export function useDraft(): OpenDraft {
  const queries = useQueryClient();
  const [text, setText] = useState<string>();
  const [base, setBase] = useState<number | null>(null);
  const [checkedText, setChecked] = useState<string>();
  const checkLater = useDebouncedCallback(setChecked, PAUSE_MS);
  const draft = useQuery({
    queryKey: keyOf(checkedText),
    queryFn: () => ask(checkedText === undefined ? {} : { text: checkedText }),
    placeholderData: keepPreviousData,
    // It is not kept once the page is left.
    gcTime: 0,
  });
  const edit = useMutation({
    mutationFn: ({ edits, from }: { edits: ConfigurationEdit[]; from: string | undefined }) =>
      ask({ edits, ...(from !== undefined && { text: from }) }),
    onSuccess: (edited) => {
      queries.setQueryData(keyOf(edited.text), edited);
      if (text === undefined) setBase(edited.base);
      setText(edited.text);
      setChecked(edited.text);
    },
  });
  return {
    text,
    base,
    result: draft.data,
    error: draft.error,
    isEditing: edit.isPending,
    isChecked: text === checkedText && !draft.isPlaceholderData,
    write: (next) => {
      if (text === undefined) setBase(draft.data?.base ?? null);
      setText(next);
      checkLater(next);
    },
    edit: (edits, before = { text }) => edit.mutateAsync({ edits, from: before.text }),
    discard: () => {
      setBase(null);
      setText(undefined);
      setChecked(undefined);
      void queries.invalidateQueries({ queryKey: keyOf(undefined) });
    },
    retry: () => void draft.refetch(),
  };
}
