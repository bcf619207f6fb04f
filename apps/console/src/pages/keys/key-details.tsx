import { useQuery } from '@tanstack/react-query';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { lifeHref } from '../traffic/value-link.tsx';
import { KeyPanel } from './key-panel.tsx';
import { KeyStateBadge } from './key-state.tsx';
import { keyQuery } from './keys-query.ts';
import type { ShownSecret } from './secret-dialog.tsx';

interface KeyDetailsProps {
  readonly id: string;
  readonly onSecret: (shown: ShownSecret) => void;
  readonly onClose: () => void;
}

/** One key beside the list; the rest of its life is on its page. */
export function KeyDetails({ id, onSecret, onClose }: KeyDetailsProps) {
  const { data: key, error, refetch } = useQuery(keyQuery(id));
  return (
    <DetailsDrawer
      of={key}
      kind="Key"
      titleOf={({ name }) => name}
      badge={(one) => <KeyStateBadge of={one} />}
      error={error}
      onRetry={() => void refetch()}
      onClose={onClose}
    >
      {(one) => (
        <>
          <PageLink to={lifeHref('keyId', one.id)}>Usage, errors and changes of this key</PageLink>
          <KeyPanel of={one} onSecret={onSecret} />
        </>
      )}
    </DetailsDrawer>
  );
}
