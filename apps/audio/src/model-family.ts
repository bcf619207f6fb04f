import { lookUp } from '@gateway/contracts/look-up';

/** A family of models with the same rules, known by the beginnings of their names. */
interface NamedFamily {
  /** A name belongs if it equals one of these, or continues one after a `-`, as dated snapshots do. */
  readonly models: readonly string[];
}

/**
 * The family of one route: the one that the configuration names, else the one that the upstream's name for the model
 * belongs to. The first fitting family of the table wins. Null: nothing is known about the model, so nothing is refused.
 */
export function familyOf<Family extends NamedFamily>(
  families: Readonly<Record<string, Family>>,
  { configured, model }: { configured: unknown; model: string },
): Family | null {
  const named = typeof configured === 'string' ? lookUp(families, configured) : undefined;
  if (named !== undefined) return named;
  const belongs = ({ models }: Family) =>
    models.some((name) => model === name || model.startsWith(`${name}-`));
  return Object.values(families).find(belongs) ?? null;
}
