import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { NewKeyBody } from '../../api/types.ts';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { withoutNulls } from '../amounts.ts';
import { KeyForm } from './key-form.tsx';
import { type KeyValues, patchOf } from './key-values.ts';
import type { ShownSecret } from './secret-dialog.tsx';

/** The form that makes a key. */
export default function NewKey({
  onMade,
  onClose,
}: {
  onMade: (shown: ShownSecret) => void;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (values: KeyValues) =>
      bodyOf(api.POST('/admin/v1/keys', { body: withoutNulls<NewKeyBody>(patchOf(values)) })),
    onSuccess: async ({ key: secret, warnings, ...of }) => {
      onMade({ of, secret, warnings });
      await queries.resetQueries({ queryKey: ['keys'] });
    },
  });
  return (
    <SideDrawer onClose={onClose} title="New key">
      <KeyForm
        action="Create key"
        isPending={make.isPending}
        error={make.error}
        onSubmit={make.mutate}
        onCancel={onClose}
      />
    </SideDrawer>
  );
}
