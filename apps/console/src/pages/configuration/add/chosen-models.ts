import type { ConfigurationEdit, TriedProvider } from '../../../api/types.ts';
import { isModelKind } from '../../models/model-kinds.ts';

type Kind = TriedProvider['models'][number]['kind'];
type Entry = TriedProvider['proposal'][number]['entry'];

/** A model that gets a route to the new channel. */
export interface ChosenModel {
  /** The name that callers use. */
  readonly callers: string;
  /** The provider's name, or a pattern of names. */
  readonly own: string;
  readonly kind: Kind;
  /** As it was proposed; its routes are made again. */
  readonly entry: Entry;
}

export const kindIn = (text: unknown): Kind =>
  typeof text === 'string' && isModelKind(text) ? text : 'text';

export const chosenOf = (own: string, kind: Kind): ChosenModel => ({
  callers: own,
  own,
  kind,
  entry: { kind },
});

/** A proposed pattern may lead to names without what stands before them: `openrouter/*` to `*`. */
export const proposedOf = ({ name, entry }: TriedProvider['proposal'][number]): ChosenModel => {
  const [route] = Array.isArray(entry.routes) ? entry.routes : [];
  const model: unknown = route?.model;
  return {
    callers: name,
    own: typeof model === 'string' ? model : name,
    kind: kindIn(entry.kind),
    entry,
  };
};

/** A model that callers know already gets another route; any other is new. */
export function modelEdits(
  channel: string,
  chosen: readonly ChosenModel[],
  there: readonly string[],
): ConfigurationEdit[] {
  return chosen.map(({ callers, own, entry }) => {
    const route = { channel, ...(own !== callers && { model: own }) };
    return there.includes(callers)
      ? { op: 'add', path: ['models', callers, 'routes'], value: route }
      : { op: 'set', path: ['models', callers], value: { ...entry, routes: [route] } };
  });
}

/** What callers can write for the text models that were chosen, of those that the provider listed. */
export function textNames(chosen: readonly ChosenModel[], models: TriedProvider['models']): string[] {
  const listed = models.filter(({ kind }) => kind === 'text').map(({ name }) => name);
  const names = chosen
    .filter(({ kind }) => kind === 'text')
    .flatMap(({ callers, own }) => {
      if (!callers.includes('*')) return [callers];
      const [before = ''] = own.split('*');
      const [prefix = ''] = callers.split('*');
      return listed
        .filter((name) => name.startsWith(before))
        .map((name) => prefix + name.slice(before.length));
    });
  return [...new Set(names)];
}
