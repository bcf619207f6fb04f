import { SCALAR_PATHS, scalarAt } from '../conversation/scalar-paths.ts';
import { formatPath } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/**
 * An upstream's `param` (`max_output_tokens`) as the caller named it (`max_tokens`). Null where the two have no one
 * place in common: a path into the translated request would mislead.
 */
export function callersParam(param: string, upstream: TextProtocol, caller: TextProtocol): string | null {
  const scalar = scalarAt(upstream, param);
  return scalar === undefined ? null : formatPath(SCALAR_PATHS[caller][scalar]);
}
