import type { Reading } from '../wire/replies.ts';
import { MEDIA_KINDS } from './media-kinds.ts';
import { REALTIME_SESSION } from './realtime-kind.ts';
import { SOCKET_KINDS } from './socket-kinds.ts';
import { TEXT_KINDS } from './text-kinds.ts';
import type { Trip } from './trip.ts';
import { REPORTED_IMAGE } from './webhook-kind.ts';

/** One way of using the gateway. */
export interface RequestKind {
  /** `paid`: a provider that may have begun must not be asked again. */
  readonly work: 'free' | 'paid';
  readonly service: 'text' | 'image' | 'audio';
  /** What does it when the service has queued it. */
  readonly worker: 'text-worker' | 'image-worker' | 'audio-worker' | null;
  /** Sends what it takes, and holds what came against what had to come. */
  readonly run: (trip: Trip) => Promise<Reading>;
}

export const REQUEST_KINDS = {
  ...TEXT_KINDS,
  ...SOCKET_KINDS,
  ...MEDIA_KINDS,
  'realtime session': REALTIME_SESSION,
  'image with a webhook': REPORTED_IMAGE,
} as const satisfies Record<string, RequestKind>;
export type RequestKindName = keyof typeof REQUEST_KINDS;

export const kindOf = (name: RequestKindName): RequestKind => REQUEST_KINDS[name];
