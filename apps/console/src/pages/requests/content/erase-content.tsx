import { Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import { useMay } from '../../../api/permissions.ts';
import { ConfirmDialog } from '../../../parts/confirm-dialog.tsx';

interface EraseContentProps {
  /** Whose content it is. */
  readonly of: { readonly keyId: string } | { readonly endUser: string };
  /** As a person knows them. */
  readonly name: string;
}

/** Deletes what the content log has of a key or an end user, for those who may. */
export function EraseContent({ of: whose, name }: EraseContentProps) {
  const may = useMay();
  const queries = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const erase = useMutation({
    mutationFn: () => eraseAll(whose),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['request-content'] });
      setAsked(false);
    },
  });
  if (!may('DELETE /admin/v1/content')) return null;
  return (
    <>
      <Button size="xs" variant="light" color="red" onClick={() => setAsked(true)}>
        Delete logged content
      </Button>
      {erase.isSuccess && (
        <Text size="sm" role="status">
          Deleted the content of {erase.data} {erase.data === 1 ? 'request' : 'requests'}.
        </Text>
      )}
      {isAsked && (
        <ConfirmDialog
          title={`Delete the logged content of ${name}?`}
          action="Delete"
          isDangerous
          typed={name}
          isPending={erase.isPending}
          error={erase.error}
          onConfirm={() => erase.mutate()}
          onClose={() => setAsked(false)}
        >
          <Text size="sm">
            What its requests asked and were answered is deleted from the content log. This is permanent, and
            may take minutes. Usage stays. Requests of the last minute may be written after that.
          </Text>
        </ConfirmDialog>
      )}
    </>
  );
}

/** One call deletes as much as it can in some seconds. Resolves to how many requests it was in all. */
async function eraseAll(whose: EraseContentProps['of']): Promise<number> {
  let deleted = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...whose, ...(cursor !== undefined && { cursor }) };
    const part = await bodyOf(api.DELETE('/admin/v1/content', { params: { query } }));
    deleted += part.deleted;
    cursor = part.next;
  }
  return deleted;
}
