import { validate } from '@gateway/service-kit/validate';
import { z } from 'zod';

const MAX_LIMIT = 1000;

const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).optional(),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
});
type ListQuery = z.infer<typeof ListQuery>;

/** The page of a list that the Messages protocol's clients ask for. @throws {GatewayError} for a limit out of range */
export const readListQuery = (query: unknown): ListQuery => validate(ListQuery, query);

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Whether there are more in the direction that was asked for. */
  readonly hasMore: boolean;
}

/** Without a limit the page is everything, as OpenAI's clients expect; an id that is not there is no bound. */
export function pageOf<Entry extends { readonly id: string }>(
  all: readonly Entry[],
  { limit = MAX_LIMIT, after_id: after, before_id: before }: ListQuery,
): Page<Entry> {
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const place = before === undefined ? -1 : all.findIndex(({ id }) => id === before);
  const within = all.slice(start, place < 0 ? all.length : place);
  const entries = place < 0 ? within.slice(0, limit) : within.slice(-limit);
  return { entries, hasMore: within.length > entries.length };
}
