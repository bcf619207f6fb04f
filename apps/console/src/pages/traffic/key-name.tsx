import { useQueries, useQuery } from '@tanstack/react-query';
import { keyQuery } from '../keys/keys-query.ts';

const NAMES_STALE_MS = 5 * 60_000;

/** A key that is gone is not asked for again by each row that comes into view. */
const nameQuery = (id: string) => ({
  ...keyQuery(id),
  staleTime: NAMES_STALE_MS,
  retry: false,
  retryOnMount: false,
});

/** A key by its name; by its id until that is known, and where there is no such key any more. */
export function KeyName({ id }: { id: string }) {
  const { data } = useQuery(nameQuery(id));
  return data?.name ?? id;
}

/** The names of these keys, as far as they are known, by their ids. */
export const useKeyNames = (ids: readonly string[]): ReadonlyMap<string, string> =>
  useQueries({
    queries: ids.map(nameQuery),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data.name] as const]))),
  });
