import { type Encoder, staysHome } from '../../conversation/encoding/encoder.ts';
import { pathsOf } from '../../conversation/scalar-paths.ts';

/** Temperature, top_p and top_k as far as Claude takes them: 0 to 1, not both at once, and none while it thinks manually. */
export function encodeSampling(encoder: Encoder, thinks: boolean) {
  const { conversation, target, losses } = encoder;
  const { sampling } = conversation;
  const { temperature, topP, topK } = sampling;
  const paths = pathsOf(conversation);
  const isHome = staysHome(encoder);
  const refused = (isGiven: boolean, path: readonly (string | number)[], why: string) => {
    if (isGiven) losses.drop(path, why);
  };
  if (target.quirks.sampling === 'drop') {
    refused(temperature !== undefined, paths.temperature, 'this model takes no sampling parameters');
    refused(topP !== undefined, paths.topP, 'this model takes no sampling parameters');
    refused(topK !== undefined, paths.topK, 'this model takes no sampling parameters');
    return {};
  }
  if (thinks && !isHome) {
    refused(temperature !== undefined && temperature !== 1, paths.temperature, 'fixed while thinking');
    refused(topP !== undefined, paths.topP, 'fixed while thinking');
    return {};
  }
  const both = !isHome && temperature !== undefined && topP !== undefined;
  refused(both, paths.topP, 'not together with a temperature');
  refused((temperature ?? 0) > 1, paths.temperature, 'lowered to 1, the highest there');
  return {
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && !both && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
  };
}
