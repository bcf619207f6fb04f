import { GatewayError } from '@gateway/contracts/gateway-error';
import { validate } from '@gateway/service-kit/request/validate';
import { z } from 'zod';

const [DEFAULT_LIMIT, MAX_LIMIT] = [20, 100];

const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  after: z.string().optional(),
});

/**
 * The page of a list of items that a query requests, newest first by default.
 *
 * @param items in the order in which they were added
 * @throws {GatewayError} for a limit out of range, an order that there is not, and a page after an item that is not there
 */
export function itemPage<Item extends { readonly id: string }>(items: readonly Item[], query: unknown) {
  const { limit = DEFAULT_LIMIT, order = 'desc', after } = validate(PageQuery, query);
  const ordered = order === 'asc' ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) {
    const message = `Item with id '${after}' not found.`;
    throw new GatewayError('object_not_found', { path: ['after'], message });
  }
  const page = ordered.slice(start, start + limit);
  return {
    page,
    members: {
      first_id: page.at(0)?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: start + limit < ordered.length,
    },
  };
}
