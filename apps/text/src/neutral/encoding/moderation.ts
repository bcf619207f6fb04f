import { blocks } from '@gateway/contracts/openai/moderation-wire';
import { refuseParameter } from '../losses.ts';
import type { Encoder } from './encoder.ts';

/** Moderation at upstreams that have none. @throws GatewayError where it would block answers */
export function encodeModeration({ conversation: { moderation }, target, losses }: Encoder): void {
  if (moderation === undefined) return;
  if (blocks(moderation) && !target.countsOnly)
    refuseParameter(
      ['moderation'],
      'Moderation that blocks is not available for this model. Leave it out to be answered without it.',
    );
  losses.drop(['moderation'], 'answers are not moderated there');
}
