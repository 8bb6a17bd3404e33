// Names of the branches we make: hawser/, words of the title, and an id. Git's own check accepts
// `hawser/;id` and `hawser/-x`, so ours allows only letters, digits and single hyphens.

const longestSlug = 40;
const branchName = /^hawser\/[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** `id`: lower-case letters and digits, which make the name unique. */
export function makeBranchName(title: string, id: string): string {
  const name = `hawser/${[slugOf(title), id].filter((part) => part !== "").join("-")}`;
  if (!/^[a-z0-9]{6,40}$/.test(id) || !isBranchName(name)) {
    throw new Error(`"${id}" cannot end a branch name.`);
  }
  return name;
}

/** Whether makeBranchName returns names like this one. */
export function isBranchName(text: string): boolean {
  return text.length <= 100 && branchName.test(text);
}

function slugOf(title: string): string {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = plain.match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, longestSlug).replace(/-$/, "");
}
