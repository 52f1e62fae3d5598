#!/usr/bin/env bash
# Lucene 9.12.3, ICUTokenizer: Chinese names.
#
# One expects a tokenizer with a dictionary to give a name as one or two words, so that a search for 丁梅 finds 丁梅 alone.
# Names aren't in the dictionary, and what isn't comes as single characters. A query is then the set of its characters: 丁梅
# also finds 丁春梅, who is somebody else, and 欧丹 finds 欧阳丹丹. An index of names needs the characters' order (phrases,
# or words from each character on).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'END'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>one</groupId>
  <artifactId>one</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.lucene</groupId>
      <artifactId>lucene-analysis-icu</artifactId>
      <version>9.12.3</version>
    </dependency>
  </dependencies>
</project>
END
mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=jars
cat >Names.java <<'END'
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

class Names {
  public static void main(String[] names) throws Exception {
    for (String name : names) {
      List<String> tokens = new ArrayList<>();
      try (ICUTokenizer tokenizer = new ICUTokenizer()) {
        tokenizer.setReader(new StringReader(name));
        tokenizer.reset();
        while (tokenizer.incrementToken()) {
          tokens.add(tokenizer.getAttribute(CharTermAttribute.class).toString());
        }
      }
      System.out.println(name + ": " + String.join(" ", tokens));
    }
  }
}
END
output=$(java -Dfile.encoding=UTF-8 -cp 'jars/*' Names.java 丁梅 丁春梅 欧丹 欧阳丹丹)
echo "$output"
diff <(printf '丁梅: 丁 梅\n丁春梅: 丁 春 梅\n欧丹: 欧 丹\n欧阳丹丹: 欧阳 丹 丹\n') <(echo "$output")
