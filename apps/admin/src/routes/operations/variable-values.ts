import { z } from 'zod';

/** Values of variables that a configuration's text names. They are sealed, and never shown again. */
export const VariableValues = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  z.string().min(1).max(10_000),
);
