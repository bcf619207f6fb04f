import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type * as z from 'zod/mini';

/**
 * What the page's address says about its view, and how to change it: a colleague who gets the address sees the same. Each member of
 * the schema is optional, and catches values that it does not allow, since people edit addresses.
 */
export function usePageSearch<Schema extends z.ZodMiniObject>(
  schema: Schema,
): [
  z.output<Schema>,
  (change: { [Name in keyof z.output<Schema>]?: z.output<Schema>[Name] | undefined }) => void,
] {
  const raw = useSearch({ strict: false });
  const search = useMemo(() => schema.parse(raw), [schema, raw]);
  const navigate = useNavigate();
  const change = useCallback(
    (changed: object) =>
      void navigate({ to: '.', search: (before: object) => ({ ...before, ...changed }), replace: true }),
    [navigate],
  );
  return [search, change];
}
