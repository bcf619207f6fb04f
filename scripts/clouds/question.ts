import type { Channel, Route } from '@gateway/upstream/configuration/configuration';
import type { Ask, Heard } from './ask.ts';

/** A model at a cloud, as the configuration has it. */
export interface Target {
  readonly channel: Channel;
  readonly route: Route;
  /** Its id, or the name of its deployment. */
  readonly model: string;
  readonly ask: Ask;
}

export interface Finding {
  readonly answer: 'yes' | 'no' | 'unclear';
  /** What the cloud said. */
  readonly found: string;
  /** What to change in the configuration, where the answer is another one than the presets have. */
  readonly set?: string;
}

/** What is not known of a cloud for certain. */
export interface Question {
  readonly name: string;
  readonly asks: string;
  readonly isFor: (target: Target) => boolean;
  readonly settle: (target: Target) => Promise<Finding>;
}

const MAX_CHARS = 240;

export const short = ({ status, text }: Heard): string =>
  `${status} ${text.replaceAll(/\s+/g, ' ').slice(0, MAX_CHARS)}`.trim();

/** Bedrock has errors under the status of an answer. */
export const isAnswered = ({ status, text }: Heard): boolean => status === 200 && !text.includes('"__type"');

/** Yes: it was answered. No: it was refused for what it is. */
export const takenOr = (heard: Heard): Finding => ({
  answer: isAnswered(heard)
    ? 'yes'
    : heard.status === 400 || heard.status === 404 || heard.status === 200
      ? 'no'
      : 'unclear',
  found: short(heard),
});

export const speaks =
  (protocol: Route['speaks'][number], ...providers: readonly string[]) =>
  ({ channel, route }: Target): boolean =>
    route.speaks.includes(protocol) && (providers.length === 0 || providers.includes(channel.provider));
