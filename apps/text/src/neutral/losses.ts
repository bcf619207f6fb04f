import { GatewayError } from '@gateway/contracts/gateway-error';
import { formatPath, type Path } from '../wire/path.ts';

/** A member of the caller's request that the target does not have, and that was left out or changed. */
export interface Dropped {
  readonly path: Path;
  /** A short clause for the log: "not known to the messages protocol". */
  readonly reason: string;
}

/** Collects what a translation had to leave out. Each path is listed once. */
export class Losses {
  readonly dropped: Dropped[] = [];
  readonly #seen = new Set<string>();

  drop(path: Path, reason: string): void {
    const name = formatPath(path);
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.dropped.push({ path, reason });
  }
}

/** Names beyond this many, or beyond this many characters, are counted and not listed: a header has bounds. */
const [MAX_HEADER_NAMES, MAX_HEADER_LENGTH] = [40, 2000];

/** A name that a caller chose is shown back only as far as a person needs it. */
const MAX_SHOWN = 64;

/** The value of `x-gateway-dropped`, or null where nothing was lost. */
export function droppedHeader(dropped: readonly Dropped[]): string | null {
  if (dropped.length === 0) return null;
  const names: string[] = [];
  let length = 0;
  for (const { path } of dropped.slice(0, MAX_HEADER_NAMES)) {
    const name = formatPath(path);
    length += name.length + 1;
    if (length > MAX_HEADER_LENGTH) break;
    names.push(name);
  }
  const rest = dropped.length - names.length;
  return [...names, ...(rest > 0 ? [`+${rest}`] : [])].join(',');
}

/** Class E: the caller would get a structurally different result. @throws always */
export function refuseParameter(path: Path, message: string): never {
  throw new GatewayError('unsupported_parameter', { message, path: [...path] });
}

/** Class E for a tool that the chosen model's upstream does not have. @throws always */
export function refuseTool(path: Path, message: string): never {
  throw new GatewayError('unsupported_tool', { message, path: [...path] });
}

/** Under `x-gateway-strict` a loss is an error. @throws GatewayError `unsupported_parameter` naming the first loss */
export function refuseLosses(dropped: readonly Dropped[]): void {
  const [first] = dropped;
  if (first === undefined) return;
  const names = droppedHeader(dropped);
  refuseParameter(
    first.path.map((step) => (typeof step === 'string' ? step.slice(0, MAX_SHOWN) : step)),
    `The model that would answer cannot honour everything in this request, and x-gateway-strict is set: ${names} (${first.reason}).`,
  );
}
