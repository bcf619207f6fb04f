/** The position of a member in the caller's request: `['tools', 2, 'cache_control']`. */
export type Path = readonly (string | number)[];

/** A member name as it may be in a response header. Callers choose these names, so nothing else gets through. */
const printable = (name: string): string => name.replace(/[^\w.$-]/g, '?').slice(0, 64);

/** `tools[2].cache_control`, the way OpenAI's `param` and the `x-gateway-dropped` header show a path. */
export const formatPath = (path: Path): string =>
  path.reduce<string>(
    (text, step) =>
      typeof step === 'number'
        ? `${text}[${step}]`
        : text === ''
          ? printable(step)
          : `${text}.${printable(step)}`,
    '',
  );
