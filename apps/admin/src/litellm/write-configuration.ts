import { Document } from 'yaml';
import type { Imported } from './convert.ts';
import { groupedNotes } from './notes.ts';

const MAX_PLACES = 8;

/** The places of a note, of many the first ones. */
const placesText = (places: readonly string[]): string =>
  places.length <= MAX_PLACES
    ? places.join(', ')
    : `${places.slice(0, MAX_PLACES).join(', ')} and ${places.length - MAX_PLACES} more`;

const HEADINGS = { todo: 'To do', changed: 'Carried over in another way', left: 'Not carried over' } as const;

/** What became of the file, in sections. */
export function reportText({ channels, models, notes }: Imported): string {
  const grouped = groupedNotes(notes);
  const counts = `${countOf(Object.keys(channels).length, 'channel')}, ${countOf(Object.keys(models).length, 'model')}.`;
  const sections = (['todo', 'changed', 'left'] as const).flatMap((outcome) => {
    const of = grouped.filter((note) => note.outcome === outcome);
    const lines = of.map(({ places, text }) => `  ${text}\n    ${placesText(places)}`);
    return lines.length === 0 ? [] : [`${HEADINGS[outcome]}\n${lines.join('\n')}`];
  });
  return [counts, ...sections].join('\n\n');
}

const countOf = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** The file of the gateway's, with the report as its comment. */
export function configurationText(imported: Imported): string {
  const { channels, models } = imported;
  const document = new Document({ channels, models }, { aliasDuplicateObjects: false });
  const comment = `Imported from LiteLLM's configuration: ${reportText(imported)}`;
  document.commentBefore = comment
    .split('\n')
    .map((line) => (line === '' ? '' : ` ${line}`))
    .join('\n');
  return document.toString({ lineWidth: 0 });
}
