/**
 * What became of a part of the file that was not simply carried over: `changed` stands in the new file in another way, `left` does not
 * stand in it, `todo` is for a person to do.
 */
export interface Note {
  readonly outcome: 'changed' | 'left' | 'todo';
  /** Where in LiteLLM's file, such as `model_list[3].litellm_params.rpm`. */
  readonly place: string;
  /** A sentence without a value that may be secret. */
  readonly text: string;
}

export type TakeNote = (outcome: Note['outcome'], place: string, text: string) => void;

/** Notes of the same text stand together, in the order of the first. */
export const groupedNotes = (notes: readonly Note[]) =>
  [...Map.groupBy(notes, ({ outcome, text }) => `${outcome} ${text}`).values()].flatMap((same) => {
    const [first] = same;
    return first === undefined
      ? []
      : [{ outcome: first.outcome, text: first.text, places: [...new Set(same.map(({ place }) => place))] }];
  });
