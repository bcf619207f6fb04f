import { useSuspenseQuery } from '@tanstack/react-query';
import type { paths } from './admin-api.gen.ts';
import { sessionQuery } from './queries.ts';
import type { OwnSession } from './types.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** Stands for all of the public API, which the admin service relays. */
type PlaygroundCall = 'POST /admin/v1/playground';

/** A call of the admin API, as the session lists those that its role may make: `POST /admin/v1/keys`. */
export type Call =
  | PlaygroundCall
  | {
      [Path in keyof paths]: {
        [M in Method]: paths[Path] extends Record<M, { responses: unknown }>
          ? `${Uppercase<M>} ${Path}`
          : never;
      }[Method];
    }[keyof paths];

export const allows = ({ permissions }: OwnSession, call: Call): boolean => permissions.includes(call);

/** Whether the person may make a call. The API decides; the page offers nothing that it would refuse. */
export function useMay(): (call: Call) => boolean {
  const { data: session } = useSuspenseQuery(sessionQuery);
  return (call) => allows(session, call);
}
