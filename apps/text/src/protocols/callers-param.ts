import { formatPath } from './conversation/path.ts';
import { SCALAR_PATHS } from './conversation/scalar-paths.ts';
import type { TextProtocol } from './conversation/text-protocol.ts';

/**
 * An upstream's `param` (`max_output_tokens`) as the caller named it (`max_tokens`). Null where the two have no one
 * place in common: a path into the translated request would mislead.
 */
export function callersParam(param: string, upstream: TextProtocol, caller: TextProtocol): string | null {
  const alias = upstream === 'chat' && param === 'max_tokens' ? 'max_completion_tokens' : param;
  const [scalar] =
    Object.entries(SCALAR_PATHS[upstream]).find(([, path]) => formatPath(path) === alias) ?? [];
  const [, path] = Object.entries(SCALAR_PATHS[caller]).find(([name]) => name === scalar) ?? [];
  return path === undefined ? null : formatPath(path);
}
