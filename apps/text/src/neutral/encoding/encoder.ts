import type { Conversation } from '../conversation.ts';
import type { Losses } from '../losses.ts';
import type { Target } from '../target.ts';
import type { ToolNames } from '../tool-names.ts';
import type { NamedMedia } from './named-media.ts';

/** What every part of a request encoder works with. */
export interface Encoder {
  readonly conversation: Conversation;
  readonly target: Target;
  readonly losses: Losses;
  readonly names: ToolNames;
  readonly media: NamedMedia;
}

/** A request in the upstream's protocol. */
export interface EncodedRequest {
  readonly body: { readonly [member: string]: unknown };
  /** Those that the upstream does not get; the gateway cuts the text at them. */
  readonly stopSequences: readonly string[];
  /** False: this upstream answers such a request only whole, so that it is not requested to stream. */
  readonly streamed?: false | undefined;
}

/** Whether file ids and other things that one provider keeps may be sent: only where the protocol stays the same. */
export const staysHome = ({ conversation, target }: Encoder): boolean =>
  conversation.source === target.protocol;
