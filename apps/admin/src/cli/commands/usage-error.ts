/** A command line that cannot be understood. Shown with a hint at `--help`; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
