import * as z from 'zod/mini';
import { PROTOCOL_NAMES } from './text/conversation.ts';

export const FAMILIES = ['text', 'images', 'speech', 'transcription', 'voice'] as const;
export type Family = (typeof FAMILIES)[number];

const text = z.catch(z.optional(z.string()), undefined);
const number = z.catch(z.optional(z.number()), undefined);
const yes = z.catch(z.optional(z.boolean()), undefined);

/** What the address says: everything but what the person writes, which may be private. */
export const PlaygroundSearch = z.object({
  family: z.catch(z.optional(z.enum(FAMILIES)), undefined),
  /** The id of the key that requests are sent with. */
  key: text,
  /** Side by side for text; the others take the first. */
  models: z.catch(z.optional(z.array(z.string())), undefined),
  protocol: z.catch(z.optional(z.enum(PROTOCOL_NAMES)), undefined),
  maxOutputTokens: number,
  temperature: number,
  effort: text,
  size: text,
  count: number,
  quality: text,
  /** Whether images are made by a job that goes on without this page. */
  job: yes,
  /** How many partial images a streamed image comes with. */
  partials: number,
  voice: text,
  speed: number,
  format: text,
  language: text,
  stream: yes,
  /** The request of the log that this began with, by any of its ids. */
  from: text,
});
export type PlaygroundSearch = z.infer<typeof PlaygroundSearch>;

/** What every family's panel is given. */
export interface PanelProps {
  readonly keyId: string | undefined;
  readonly search: PlaygroundSearch;
  readonly change: (changed: PlaygroundSearch) => void;
}
