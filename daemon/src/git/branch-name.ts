// Names of the branches we make: hawser/, what the title says, and an id. Git's own check accepts
// `hawser/;id` and `hawser/-x`, so ours allows nothing but letters, digits and single hyphens.

const longestSlug = 40;
const branchName = /^hawser\/[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** `id` is lower-case letters and digits, and makes the name unique. */
export function makeBranchName(title: string, id: string): string {
  const name = `hawser/${[slugOf(title), id].filter((part) => part !== "").join("-")}`;
  if (!/^[a-z0-9]{6,40}$/.test(id) || !isBranchName(name)) {
    throw new Error(`"${id}" cannot end a branch name.`);
  }
  return name;
}

/** Whether a name is one that makeBranchName gives. */
export function isBranchName(text: string): boolean {
  return text.length <= 100 && branchName.test(text);
}

function slugOf(title: string): string {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = plain.match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, longestSlug).replace(/-$/, "");
}
