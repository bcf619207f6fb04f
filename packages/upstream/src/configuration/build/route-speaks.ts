import type { Protocol } from '../../protocol.ts';
import type { Channel } from '../configuration.ts';
import type { RouteEntry } from '../file-schema.ts';

/**
 * The protocols of one route's model. Null: its channel's models differ in that, and neither the route nor the model's id says it.
 *
 * @param name the model's id where the route has none of its own
 */
export function routeSpeaks(
  { speaks, speaksOf }: Pick<Channel, 'speaks' | 'speaksOf'>,
  route: Pick<RouteEntry, 'speaks' | 'model'>,
  name: string,
): readonly Protocol[] | null {
  if (route.speaks !== undefined) return route.speaks;
  if (speaksOf === null) return speaks;
  return speaksOf.find(({ ids }) => ids.test(route.model ?? name))?.speaks ?? null;
}
